${glsl_type(f32, vec)} scaled(${glsl_type(f32, vec)} x) { return x * problem.factor; }
