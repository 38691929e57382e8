// Compiled and run by decorator.test.ts, since no engine has decorators yet.
import { hostname } from "node:os";
import { sandbox } from "@agent-sandbox/sdk/declarative";
import { area, type Circle } from "./shapes.js";

class Other {
  async measure(): Promise<string> {
    return "not this one";
  }
}

class Shapes {
  readonly scale = 2;

  @sandbox()
  async measure(circle: Circle): Promise<{ area: number; host: string }> {
    return { area: area(circle), host: hostname() };
  }

  @sandbox({ envs: { MARK: "static" } })
  static async mark(): Promise<string | undefined> {
    return process.env.MARK;
  }

  @sandbox()
  async scaled(n: number): Promise<number> {
    return n * this.scale;
  }
}

const shapes = new Shapes();
const measured = await shapes.measure({ radius: 1 });
console.log(
  JSON.stringify({
    area: measured.area,
    isElsewhere: measured.host !== hostname(),
    mark: await Shapes.mark(),
    refusal: await shapes.scaled(1).catch((error: Error) => error.message),
    other: await new Other().measure(),
  }),
);
