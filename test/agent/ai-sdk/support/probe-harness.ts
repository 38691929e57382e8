import type { HarnessV1, HarnessV1NetworkSandboxSession, HarnessV1PromptTurnOptions, HarnessV1StartOptions } from "@ai-sdk/harness";

const FINISHED = {
  finishReason: { unified: "stop" as const, raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  },
};
const EMPTY_STATE = { type: "resume-session", harnessId: "probe", specificationVersion: "harness-v1", data: {} } as const;

export interface Probe {
  readonly harness: HarnessV1;
  /** What each start was given. */
  readonly starts: HarnessV1StartOptions[];
}

/** An adapter whose runtime is the shell of the sandbox: a prompt is a command, its output the answer. */
export function createProbe(version = "1"): Probe {
  const starts: HarnessV1StartOptions[] = [];
  const harness: HarnessV1 = {
    specificationVersion: "harness-v1",
    harnessId: "probe",
    builtinTools: {},
    getBootstrap: async () => ({
      harnessId: "probe",
      bootstrapDir: ".probe",
      files: [{ path: ".probe/version", content: version }],
      commands: [{ command: "date +%s%N >> installed" }],
    }),
    async doStart(options) {
      starts.push(options);
      const run = async ({ prompt, emit, abortSignal }: HarnessV1PromptTurnOptions): Promise<void> => {
        const command = typeof prompt === "string" ? prompt : JSON.stringify(prompt.content);
        const { stdout } = await options.sandboxSession.run({
          command: command.startsWith("[") ? (JSON.parse(command) as { text: string }[]).map(({ text }) => text).join("\n") : command,
          workingDirectory: options.sessionWorkDir,
          ...(abortSignal && { abortSignal }),
        });
        emit({ type: "stream-start" });
        emit({ type: "text-start", id: "1" });
        emit({ type: "text-delta", id: "1", delta: stdout });
        emit({ type: "text-end", id: "1" });
        emit({ type: "finish-step", ...FINISHED });
        emit({ type: "finish", finishReason: FINISHED.finishReason, totalUsage: FINISHED.usage });
      };
      const doPromptTurn = async (turn: HarnessV1PromptTurnOptions) => ({ done: run(turn), submitToolResult: async () => undefined });
      const refuse = async () => {
        throw new Error("the probe has no turns that go on");
      };
      return {
        sessionId: options.sessionId,
        isResume: options.resumeFrom !== undefined,
        doPromptTurn,
        doCompact: refuse,
        doContinueTurn: refuse,
        doSuspendTurn: refuse,
        doDetach: async () => EMPTY_STATE,
        doStop: async () => EMPTY_STATE,
        doDestroy: async () => undefined,
      };
    },
  };
  return { harness, starts };
}

/** The sandbox of a start, with what a provider's sessions have beside files and processes. */
export function networkSessionOf(probe: Probe): HarnessV1NetworkSandboxSession {
  const session = probe.starts.at(-1)?.sandboxSession;
  if (session === undefined || !("restricted" in session)) throw new Error("the harness was given no network session");
  return session;
}
