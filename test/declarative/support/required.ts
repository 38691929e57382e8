// Compiled to CommonJS and run by commonjs.test.ts.
import { hostname } from "node:os";
import { remote } from "@agent-sandbox/sdk/declarative";
import { area, digest } from "./shapes.js";

const measure = remote(async (radius: number) => ({ area: area({ radius }), digest: digest("x"), host: hostname() }));

void measure(1).then(({ host, ...rest }) => console.log(JSON.stringify({ ...rest, isElsewhere: host !== hostname() })));
