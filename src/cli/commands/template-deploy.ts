import { BuildError, FailedPreconditionError, InvalidArgumentError, TimeoutError } from "../../index.js";
import { type FcControlClient, fcControl, fcControlUrl } from "../../sandbox/fc/index.js";
import { quoteShellWord } from "../../shared/shell-quote.js";
import { askLeave } from "../deploy/ask.js";
import { type DeployOptions, type DeployPlan, toDeployPlan } from "../deploy/deploy-plan.js";
import { withEnvs } from "../deploy/dockerfile-envs.js";
import {
  type EngineCommand,
  type EngineName,
  findEngine,
  registryOf,
  runEngine,
  toBuildCommand,
  toLoginCommand,
  toPushCommand,
} from "../deploy/image-engine.js";
import { EXIT, type ExitCode } from "../exit-code.js";
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
  run(): Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 10_000;

/** `abx template deploy`: build here, push, let the service make a template of the image, and wait until it is ready. */
export async function runTemplateDeployCommand(name: string | undefined, options: TemplateDeployCommandOptions): Promise<ExitCode> {
  const plan = toDeployPlan(name, options);
  if (!options.dryRun && !options.yes && !process.stdin.isTTY) {
    throw new InvalidArgumentError(
      "there is no terminal to ask on: pass --yes to allow the push and the template, or --dry-run to see them",
    );
  }
  const engine = options.dryRun ? (options.engine ?? "podman") : await findEngine(options.engine);
  await using file = await withEnvs(plan.build.dockerfile, options.dryRun ? {} : plan.envs);
  // Opened before the build, so that a missing key is told before minutes have passed.
  const control = options.dryRun ? undefined : fcControl({ region: plan.region });
  let templateId = "";
  const names = Object.keys(plan.envs);
  const added = names.length === 0 ? [] : [{ text: `# the Dockerfile gets ENV for ${names.join(", ")}`, run: async () => undefined }];
  const steps: Step[] = [
    ...added,
    ...toImageSteps(engine, plan, file.file),
    {
      text: `CreateTemplate at ${fcControlUrl({ region: plan.region })}, signed, with ${JSON.stringify(plan.spec)}`,
      question: `Make the template ${plan.spec.name}?`,
      run: async () => {
        templateId = (await control?.createTemplate(plan.spec)) ?? "";
      },
    },
    {
      text: "GetTemplate, signed, until its state is ready or error",
      run: async () => {
        if (control !== undefined) await untilReady(control, templateId, plan, options.timeout * 1000);
      },
    },
  ];
  if (options.dryRun) {
    if (options.json) await writeJson({ steps: steps.map(({ text }) => text) });
    else await writeOut(steps.map(({ text }) => `${text}\n`).join(""));
    return EXIT.ok;
  }
  for (const { text, question, run } of steps) {
    await writeErr(`${text}\n`);
    if (question !== undefined && !options.yes && !(await askLeave(question))) {
      throw new FailedPreconditionError("not allowed, so nothing further was done");
    }
    await run();
  }
  if (options.json) await writeJson({ templateId, name: plan.spec.name, image: plan.build.image });
  else await writeOut(`${templateId}\n`);
  return EXIT.ok;
}

function toImageSteps(engine: EngineName, { build, login }: DeployPlan, dockerfile: string): Step[] {
  const registry = registryOf(build.image);
  const toStep = (command: EngineCommand, question?: string): Step => ({
    text: command.argv.map(quoteShellWord).join(" "),
    ...(question !== undefined && { question }),
    run: () => runEngine(command),
  });
  return [
    toStep(toBuildCommand(engine, { ...build, dockerfile })),
    ...(login === undefined
      ? []
      : [toStep(toLoginCommand(engine, registry, login.username, login.password), `Log in to ${registry} as ${login.username}?`)]),
    toStep(toPushCommand(engine, build.image), `Push ${build.image}?`),
  ];
}

async function untilReady(control: FcControlClient, templateId: string, plan: DeployPlan, timeoutMs: number): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs;
  let told = "";
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 1.5)) {
    const { state, message } = await control.getTemplate(templateId, { teamId: plan.spec.teamID });
    if (state !== told) await writeErr(`${templateId} is ${state}\n`);
    told = state;
    if (state === "ready") return;
    if (state === "error") throw new BuildError(`the service could not make ${templateId}: ${message ?? "it does not say why"}`);
    if (performance.now() + pauseMs > endsAtMs) {
      throw new TimeoutError(`${templateId} is still ${state} after ${timeoutMs / 1000} s; it goes on without this command`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
