// The engine's own shader: to[i] = 2 * from[i]. `twice.h` is made of it by `glslang -V --vn kTwice twice.comp -o twice.h`.
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer From { float from[]; };
layout(binding = 1) writeonly buffer To { float to[]; };

void main() { to[gl_GlobalInvocationID.x] = 2 * from[gl_GlobalInvocationID.x]; }
