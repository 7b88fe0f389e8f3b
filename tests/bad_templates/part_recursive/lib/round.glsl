$part there
$include "lib/round.glsl" back
$part back
$include "lib/round.glsl" there
