/** Entry `@agent-sandbox/sdk/declarative`: functions whose calls run in a sandbox. */
export { SerializationError } from "../errors/serialization-error.js";
export { type PythonModule, type PythonTag, python } from "./python.js";
export { remote } from "./remote.js";
export type { RemoteFunction } from "./remote-function.js";
export type { RemoteCallOptions, RemoteMapOptions, RemoteOptions, RemoteOutputOptions } from "./remote-options.js";
export { sandbox } from "./sandbox-decorator.js";
