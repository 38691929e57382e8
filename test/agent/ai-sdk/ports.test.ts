import type { HarnessV1NetworkSandboxSession, HarnessV1SandboxProvider } from "@ai-sdk/harness";
import type { Experimental_SandboxSession, ToolSet } from "ai";
import { expectTypeOf, it } from "vitest";
import type {
  CreateSessionOptions,
  NetworkSandboxSession,
  openSandboxSession,
  SandboxNetworkPolicy,
  SandboxProvider,
  toAiSdkTools,
} from "../../../src/agent/ai-sdk/index.js";

type HarnessSession = Awaited<ReturnType<HarnessV1SandboxProvider["createSession"]>>;

it("what the entry gives has the types of the framework's ports", () => {
  expectTypeOf<ReturnType<typeof toAiSdkTools>>().toExtend<ToolSet>();
  expectTypeOf<Awaited<ReturnType<typeof openSandboxSession>>>().toExtend<Experimental_SandboxSession>();
  expectTypeOf<NetworkSandboxSession>().toExtend<Experimental_SandboxSession>();
  expectTypeOf<NetworkSandboxSession>().toExtend<HarnessV1NetworkSandboxSession>();
  expectTypeOf<NetworkSandboxSession>().toExtend<HarnessSession>();
  expectTypeOf<SandboxProvider>().toExtend<HarnessV1SandboxProvider>();
  expectTypeOf<NonNullable<Parameters<HarnessV1SandboxProvider["createSession"]>[0]>>().toExtend<CreateSessionOptions>();
  expectTypeOf<Parameters<NonNullable<HarnessV1NetworkSandboxSession["setNetworkPolicy"]>>[0]>().toExtend<SandboxNetworkPolicy>();
});

it("a session has every member of the ports, and none that the sandbox cannot keep", () => {
  type Required = Exclude<keyof HarnessV1NetworkSandboxSession, "addRequestTransformations" | "setPorts">;
  expectTypeOf<keyof NetworkSandboxSession>().toEqualTypeOf<Required | keyof Experimental_SandboxSession>();
});
