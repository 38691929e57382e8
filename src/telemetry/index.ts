export type { Telemetry } from "../transport/telemetry.js";
export { createTelemetry, type TelemetryOptions } from "./create-telemetry.js";
