/** Entry `@agent-sandbox/sdk`: sandboxes and all that happens in them, templates, volumes, secrets and errors, for every runtime. */
export { BuildError, FileUploadError } from "./errors/build-error.js";
export { CommandExitError, type CommandOutcome } from "./errors/command-exit-error.js";
export {
  AlreadyExistsError,
  AuthenticationError,
  ConnectionError,
  FailedPreconditionError,
  FileNotFoundError,
  InternalError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  PermissionDeniedError,
  ProtocolError,
  RateLimitError,
  SandboxNotFoundError,
  ServiceBusyError,
  TemplateError,
  TimeoutError,
  UnimplementedError,
} from "./errors/error-classes.js";
export { CommandArgumentError, CommandNotFoundError, NamedCommandError } from "./errors/named-command-errors.js";
export { ERROR_REASONS, type ErrorReason } from "./errors/reason.js";
export { SandboxError, type SandboxErrorOptions } from "./errors/sandbox-error.js";
export type { ByteRange } from "./protocol/byte-range.js";
export type {
  BarChart,
  BoxAndWhiskerChart,
  Chart,
  ChartScale,
  CodeContext,
  LineChart,
  PieChart,
  ScatterChart,
  SuperChart,
  UnknownChart,
} from "./protocol/code-types.js";
export type { FileData } from "./protocol/file-data.js";
export { type EntryInfo, type FilesystemEvent, FilesystemEventType, FileType } from "./protocol/filesystem-client.js";
export type { EnforcedLimits, HostMount, IsolationLevel, SandboxIsolation } from "./protocol/isolation-types.js";
export type {
  SandboxInfo,
  SandboxLifecycleInfo,
  SandboxQuery,
  SandboxState,
  VolumeMountInfo,
} from "./protocol/lifecycle-types.js";
export type { EgressProxy, NetworkLogEntry, NetworkRule, NetworkUpdate, SandboxNetwork } from "./protocol/network-client.js";
export type { ProcessInfo, PtySize } from "./protocol/process-client.js";
export type { MetricsRange } from "./protocol/record-client.js";
export type { SecretInfo } from "./protocol/secret-client.js";
export type {
  SandboxEvent,
  SandboxEventType,
  SandboxLogEntry,
  SandboxLogLevel,
  SandboxLogQuery,
  SandboxMetrics,
  SnapshotInfo,
} from "./protocol/state-types.js";
export type {
  TemplateBuildLog,
  TemplateBuildStatus,
  TemplateDetail,
  TemplateInfo,
  TemplateTag,
} from "./protocol/template-client.js";
export type { WriteInfo } from "./protocol/transfer.js";
export type { VolumeEntry, VolumeInfo, VolumeMetadata, VolumeWriteOptions } from "./protocol/volume-client.js";
export { Code, type CreateContextOptions, type RunCodeOptions } from "./sandbox/code/code.js";
export { type CodeOutput, type Execution, type ExecutionError, Result } from "./sandbox/code/execution.js";
export type { ExecutionCallbacks } from "./sandbox/code/execution-recorder.js";
export {
  type CommandBytes,
  CommandHandle,
  type CommandOutput,
  type CommandResult,
  type OutputCallback,
  type OutputGap,
  type OutputOptions,
} from "./sandbox/command-handle.js";
export {
  type CommandBackgroundOptions,
  type CommandBytesConnectOptions,
  type CommandBytesStartOptions,
  type CommandConnectOptions,
  type CommandRunOptions,
  type CommandStartOptions,
  Commands,
} from "./sandbox/commands.js";
export type { SandboxBoundaryOptions } from "./sandbox/create-isolated.js";
export type { FileUrlOptions } from "./sandbox/file-url.js";
export {
  type FileContent,
  type FileFormat,
  type FileListOptions,
  type FileOptions,
  type FileReadOptions,
  Files,
  type FileWriteEntry,
  type FileWriteOptions,
  type ReadArchiveOptions,
  type WatchOptions,
} from "./sandbox/files.js";
export type { SandboxLifecycleOptions, SandboxOnResume } from "./sandbox/lifecycle-options.js";
export {
  type CommandInfo,
  type CommandListOptions,
  type CommandServerOptions,
  NamedCommands,
  type NamedRunArguments,
  type NamedRunOptions,
  type TypedCommands,
} from "./sandbox/named-commands.js";
export { ALL_TRAFFIC, Network, type NetworkLogOptions } from "./sandbox/network.js";
export type { SandboxParts } from "./sandbox/open-sandbox.js";
export { Paginator } from "./sandbox/paginator.js";
export { Pty, type PtyConnectOptions, type PtyCreateOptions, type PtyUrlOptions } from "./sandbox/pty.js";
export { PtySession } from "./sandbox/pty-session.js";
export {
  type FactoryThis,
  Sandbox,
  type SandboxClass,
  type SandboxConnectOptions,
  type SandboxCreateOptions,
  type SandboxForkOptions,
  type SandboxForks,
  type SandboxListOptions,
  type SandboxPaginator,
  type WakeOptions,
} from "./sandbox/sandbox.js";
export type { EventOptions, PauseOptions, SnapshotListOptions, SnapshotOptions, SnapshotPaginator } from "./sandbox/sandbox-states.js";
export { Secret, type SecretListOptions, type SecretOptions } from "./sandbox/secret.js";
export {
  type BuildLogger,
  defaultBuildLogger,
  LogEntry,
  LogEntryEnd,
  LogEntryStart,
  type LogLevel,
} from "./sandbox/template/build-log.js";
export type { BuildInfo } from "./sandbox/template/build-template.js";
export { ReadyCommand, waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForURL } from "./sandbox/template/ready-command.js";
export { type BuildStatusOptions, Template, type TemplateBuildOptions } from "./sandbox/template/template.js";
export type { CopyItem, FinishedTemplate, TemplateBuilder, TemplateOptions } from "./sandbox/template/template-builder.js";
export type { CopyOptions } from "./sandbox/template/template-step.js";
export { Volume, type VolumeListOptions, type VolumeReadOptions } from "./sandbox/volume.js";
export { type WatchCallback, type WatchExitCallback, WatchHandle } from "./sandbox/watch-handle.js";
export type { CommandArgument } from "./shared/command-arguments.js";
export type { CommandSet } from "./shared/command-definition.js";
export type { CustomCommandSpec } from "./shared/custom-commands.js";
export type { ApiKeyProvider, ConnectionOptions, Encoding, PlatformKind, RequestOptions, ServiceKind } from "./transport/config.js";
export type { LogFacts, Logger } from "./transport/logger.js";
export type { Telemetry } from "./transport/telemetry.js";
