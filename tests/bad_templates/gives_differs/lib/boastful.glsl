$gives vec4 scaled(vec4 x)
float scaled(float x) { return x * problem.factor; }
