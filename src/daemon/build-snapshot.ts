import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { compileFunction } from "node:vm";

// node --snapshot-blob <target> --build-snapshot build-snapshot.cjs <snapshot.cjs>
//
// Functions are compiled at once instead of at their first call, and stay compiled, so that the first request finds them. The flags are set
// back, because a snapshot is only taken by a Node with equal ones.
const [, , file = ""] = process.argv;
const source = readFileSync(file, "utf8");
setFlagsFromString("--no-lazy");
setFlagsFromString("--no-flush-bytecode");
const evaluate = compileFunction(source, ["require", "module", "exports", "__filename"]);
setFlagsFromString("--lazy");
setFlagsFromString("--flush-bytecode");
const module_ = { exports: {} };
evaluate(require, module_, module_.exports, file);
