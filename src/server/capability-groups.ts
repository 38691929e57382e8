import { InvalidArgumentError } from "../errors/error-classes.js";

/** Groups of routes that are switched on and off together. */
export const CAPABILITY_GROUPS = ["core", "commands", "file_ops", "process", "terminal", "system", "dev_tools", "browser"] as const;

/** One of {@link CAPABILITY_GROUPS}. */
export type CapabilityGroup = (typeof CAPABILITY_GROUPS)[number];

const OFF_BY_DEFAULT: readonly CapabilityGroup[] = ["dev_tools", "browser"];

/**
 * Which groups are on. `core` always is; what `alsoOff` names is off whatever else is said.
 *
 * @param alsoOff names separated by commas; unknown ones count for nothing
 * @throws {@link InvalidArgumentError} a choice names no group, or turns `core` off.
 */
export function chooseGroups(
  choices: Readonly<Partial<Record<CapabilityGroup, boolean>>>,
  alsoOff: string,
): Readonly<Record<CapabilityGroup, boolean>> {
  for (const [name, isOn] of Object.entries(choices)) {
    if (!(CAPABILITY_GROUPS as readonly string[]).includes(name)) {
      throw new InvalidArgumentError(`there is no capability group '${name}'; there are ${CAPABILITY_GROUPS.join(", ")}`);
    }
    if (name === "core" && isOn === false) throw new InvalidArgumentError("the capability group 'core' cannot be switched off");
  }
  const off = alsoOff.split(",").map((name) => name.trim());
  const isOn = (group: CapabilityGroup): boolean =>
    group === "core" || ((choices[group] ?? !OFF_BY_DEFAULT.includes(group)) && !off.includes(group));
  return Object.fromEntries(CAPABILITY_GROUPS.map((group) => [group, isOn(group)])) as Record<CapabilityGroup, boolean>; // one entry for each
}
