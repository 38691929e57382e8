import { startupSnapshot } from "node:v8";
import { run } from "./run.js";

// Everything that is imported here is evaluated while the snapshot is built, so nothing of it may hold what belongs to one sandbox.
startupSnapshot.setDeserializeMainFunction(run);
