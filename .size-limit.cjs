/** What a program carries that uses the package, minified and compressed by brotli, and what each sandbox has mapped. Building the first one also shows that the root entry needs nothing of Node. */
module.exports = [
  {
    // With what calls load later; what is loaded at first is measured by `make bench` (vs_e2b.bundle).
    name: "import { Sandbox } in a page",
    path: "dist/index.js",
    import: "{ Sandbox }",
    limit: "71 kB",
    modifyEsbuildConfig: (config) => ({ ...config, format: "esm" }),
  },
  {
    name: "the daemon in a sandbox, uncompressed",
    path: "dist/daemon/daemon.mjs",
    limit: "370 kB",
    import: "*",
    brotli: false,
    modifyEsbuildConfig: (config) => ({ ...config, format: "esm", platform: "node" }),
  },
];
