import { type Command, Option } from "commander";
import { collectPair, parseWholeNumber } from "./option-parsers.js";

const DEFAULT_TIMEOUT_SECONDS = 1800;

/** `abx template deploy` and its options. */
export function addDeployCommand(template: Command, setExitCode: (code: number) => void): void {
  template
    .command("deploy")
    .description("build an image here, push it, and make a template of it at the FC service; asks before each effect outside")
    .argument("[name]", "name of the template; by default the one in template.yaml")
    .option("-p, --path <directory>", "directory with the files", ".")
    .option("-d, --dockerfile <file>", "Dockerfile, relative to the directory")
    .option("--build-arg <NAME=VALUE>", "value of an ARG; repeatable", collectPair)
    .addOption(
      new Option("--engine <name>", "what builds and pushes; by default the first that answers").choices(["podman", "buildah", "docker"]),
    )
    .option("--platform <platform>", "platform of the image", "linux/amd64")
    .option("--image <registry/namespace/name:tag>", "where the image is pushed to")
    .option("--acr-registry <host>", "registry, in place of --image; ACR_REGISTRY")
    .option("--acr-namespace <name>", "namespace in the registry; ACR_NAMESPACE")
    .option("--acr-repo <name>", "name of the image; by default that of the template")
    .option("--acr-username <name>", "log in to the registry first, with the password in ACR_PASSWORD; ACR_USERNAME")
    .option("--acree-instance-id <id>", "instance of an enterprise registry")
    .option("--tag <tag>", "tag of the image; by default the first in template.yaml, else latest")
    .option("--pull-as <address>", "address of the image for the service, when it is another one there")
    .option("--target-image <address>", "let the service copy the image there and use the copy")
    .option("--envd-inject", "let the service put the daemon into the copy; not needed for an image that is made from an official one")
    .option("--no-envd-inject", "use the image as it is")
    .option("--region <region>", "region of the template; SANDBOX_REGION, cn-hangzhou")
    .option("--team-id <id>", "team that owns it; FCSANDBOX_TEAM_ID")
    .option("--cpu-count <count>", "CPUs of its sandboxes, 2", parseWholeNumber)
    .option("--memory-mb <MiB>", "memory of its sandboxes, 2048", parseWholeNumber)
    .option("--generation <number>", "1, or 2 for micro virtual machines", parseWholeNumber)
    .option("-c, --cmd <command>", "runs in every sandbox from its start on")
    .option("--ready-cmd <command>", "ends with 0 once the command is ready")
    .option("--internet-access", "its sandboxes reach the internet")
    .option("--no-internet-access", "they do not")
    .option("--vpc-id <id>", "VPC of its sandboxes")
    .option("--vswitch-ids <id,...>", "switches of the VPC", (value: string) => value.split(",").filter((id) => id !== ""))
    .option("--security-group-id <id>", "security group in the VPC")
    .option("--timeout <seconds>", "how long the service may take", parseWholeNumber, DEFAULT_TIMEOUT_SECONDS)
    .option("-y, --yes", "do everything without asking")
    .option("--dry-run", "print each command and call, and do none")
    .option("--json", "print the template as JSON")
    .action(async (name, options) =>
      setExitCode(await (await import("./commands/template-deploy.js")).runTemplateDeployCommand(name, options)),
    );
}
