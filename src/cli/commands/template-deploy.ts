import { BuildError, FailedPreconditionError, InvalidArgumentError, TimeoutError } from "../../index.js";
import { type FcControlClient, fcControl, fcControlUrl } from "../../sandbox/fc/index.js";
import type { EngineName } from "../../shared/container-engines-node.js";
import { pause } from "../../shared/pause.js";
import { quoteShellWord } from "../../shared/shell-quote.js";
import { askLeave } from "../deploy/ask.js";
import { type DeployOptions, type DeployPlan, toDeployPlan } from "../deploy/deploy-plan.js";
import { withEnvs } from "../deploy/dockerfile-envs.js";
import {
  type EngineCommand,
  findEngine,
  registryOf,
  runEngine,
  toBuildCommand,
  toLoginCommand,
  toPushCommand,
} from "../deploy/image-engine.js";
import { EXIT } from "../exit-code.js";
import { exitStatusOf } from "../exit-signal.js";
import { watchEndingSignals } from "../local-signals.js";
import { writeErr, writeJson, writeOut } from "../output.js";

export interface TemplateDeployCommandOptions extends DeployOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  /** Seconds that the build at the service may take. */
  readonly timeout: number;
  readonly json?: boolean;
}

/** One step; what others can see is only done with leave. */
interface Step {
  readonly text: string;
  /** What is asked before; absent for steps that stay on this machine. */
  readonly question?: string;
  run(signal: AbortSignal): Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 10_000;

/**
 * `abx template deploy`: build here, push, let the service make a template of the image, and wait until it is ready. A signal that ends it ends what
 * runs for it on this machine.
 */
export async function runTemplateDeployCommand(name: string | undefined, options: TemplateDeployCommandOptions): Promise<number> {
  const plan = toDeployPlan(name, options);
  if (options.dryRun) return showSteps(plan, options);
  if (!options.yes && !process.stdin.isTTY) {
    throw new InvalidArgumentError(
      "there is no terminal to ask on: pass --yes to allow the push and the template, or --dry-run to see them",
    );
  }
  const engine = await findEngine(options.engine);
  const ending = new AbortController();
  using signals = watchEndingSignals(() => ending.abort());
  await using file = await withEnvs(plan.build.dockerfile, plan.envs);
  // Opened before the build, so that a missing key is told before minutes have passed.
  const service = new TemplateOrder(plan, options.timeout * 1000, fcControl({ region: plan.region }));
  try {
    for (const { text, question, run } of toSteps(engine, plan, file.file, service)) {
      await writeErr(`${text}\n`);
      if (question !== undefined && !options.yes && !(await askLeave(question, ending.signal))) {
        throw new FailedPreconditionError("not allowed, so nothing further was done");
      }
      await run(ending.signal);
    }
  } catch (error) {
    if (signals.received === undefined) throw error;
    if (service.templateId !== "") await writeErr(`abx: the service goes on with ${service.templateId}\n`);
    return exitStatusOf(0, signals.received);
  }
  if (options.json) await writeJson({ templateId: service.templateId, name: plan.spec.name, image: plan.build.image });
  else await writeOut(`${service.templateId}\n`);
  return EXIT.ok;
}

async function showSteps(plan: DeployPlan, options: TemplateDeployCommandOptions): Promise<number> {
  const steps = toSteps(options.engine ?? "podman", plan, plan.build.dockerfile, NOTHING);
  if (options.json) await writeJson({ steps: steps.map(({ text }) => text) });
  else await writeOut(steps.map(({ text }) => `${text}\n`).join(""));
  return EXIT.ok;
}

function toSteps(engine: EngineName, plan: DeployPlan, dockerfile: string, service: Pick<TemplateOrder, "create" | "untilReady">): Step[] {
  const names = Object.keys(plan.envs);
  const added = names.length === 0 ? [] : [{ text: `# the Dockerfile gets ENV for ${names.join(", ")}`, run: async () => undefined }];
  return [
    ...added,
    ...toImageSteps(engine, plan, dockerfile),
    {
      text: `CreateTemplate at ${fcControlUrl({ region: plan.region })}, signed, with ${JSON.stringify(plan.spec)}`,
      question: `Make the template ${plan.spec.name}?`,
      run: (signal) => service.create(signal),
    },
    { text: "GetTemplate, signed, until its state is ready or error", run: (signal) => service.untilReady(signal) },
  ];
}

function toImageSteps(engine: EngineName, { build, login }: DeployPlan, dockerfile: string): Step[] {
  const registry = registryOf(build.image);
  const toStep = (command: EngineCommand, question?: string): Step => ({
    text: command.argv.map(quoteShellWord).join(" "),
    ...(question !== undefined && { question }),
    run: (signal) => runEngine(command, signal),
  });
  return [
    toStep(toBuildCommand(engine, { ...build, dockerfile })),
    ...(login === undefined
      ? []
      : [toStep(toLoginCommand(engine, registry, login.username, login.password), `Log in to ${registry} as ${login.username}?`)]),
    toStep(toPushCommand(engine, build.image), `Push ${build.image}?`),
  ];
}

/** For steps that are only shown. */
const NOTHING = { create: async () => undefined, untilReady: async () => undefined };

/** The part of the service. */
class TemplateOrder {
  readonly #plan: DeployPlan;
  readonly #timeoutMs: number;
  readonly #control: FcControlClient;
  /** Empty until the service has begun. */
  templateId = "";

  constructor(plan: DeployPlan, timeoutMs: number, control: FcControlClient) {
    this.#plan = plan;
    this.#timeoutMs = timeoutMs;
    this.#control = control;
  }

  async create(signal: AbortSignal): Promise<void> {
    this.templateId = await this.#control.createTemplate(this.#plan.spec, { signal });
  }

  async untilReady(signal: AbortSignal): Promise<void> {
    const endsAtMs = performance.now() + this.#timeoutMs;
    let told = "";
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 1.5)) {
      const { state, message } = await this.#control.getTemplate(this.templateId, { teamId: this.#plan.spec.teamID, signal });
      if (state !== told) await writeErr(`${this.templateId} is ${state}\n`);
      told = state;
      if (state === "ready") return;
      if (state === "error") throw new BuildError(`the service could not make ${this.templateId}: ${message ?? "it does not say why"}`);
      if (performance.now() + pauseMs > endsAtMs) {
        throw new TimeoutError(`${this.templateId} is still ${state} after ${this.#timeoutMs / 1000} s; it goes on without this command`);
      }
      await pause(pauseMs, signal);
    }
  }
}
