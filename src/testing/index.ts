/** Entry `@agent-sandbox/sdk/testing`: for test suites of programs that use sandboxes. Node only. */
export { type RecordOptions, recordTo } from "./recording/record.js";
export type { RecordingOptions, WireSession } from "./recording/recording-options.js";
export { type Replay, type ReplayOptions, replayFrom } from "./recording/replay.js";
export { startTestPlatform, type TestPlatform, type TestPlatformOptions } from "./test-platform.js";
