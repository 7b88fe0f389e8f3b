// goes round
$include "lib/about.glsl"
