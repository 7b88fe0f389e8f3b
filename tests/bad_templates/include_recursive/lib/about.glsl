$include "lib/round.glsl"
