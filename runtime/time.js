
const ort=require("onnxruntime-node"),fs=require("fs");(async()=>{
const s=await ort.InferenceSession.create(process.argv[2],{graphOptimizationLevel:"disabled",logSeverityLevel:3});
const b=fs.readFileSync(process.argv[3]);const x=new Float32Array(b.buffer.slice(b.byteOffset,b.byteOffset+b.length));const n=+process.argv[4];
const t=new ort.Tensor("float32",x,[1,3,n,n]);let r;const times=[];
for(let i=0;i<+process.argv[5];i++){const a=Date.now();r=await s.run({input:t});times.push(Date.now()-a);}
console.log(JSON.stringify(times));
const said={};for(const k of Object.keys(r))said[k]={dims:r[k].dims,file:process.argv[6]+k.replace(/[^a-z0-9]/gi,'_')+'.bin'},fs.writeFileSync(said[k].file,Buffer.from(r[k].data.buffer,r[k].data.byteOffset,r[k].data.byteLength));
fs.writeFileSync(process.argv[6]+"said.json",JSON.stringify(said));})().catch(e=>{console.error(String(e));process.exit(1);});