/** A mapping of a configuration file. */
export type ConfigurationMapping = Record<string, unknown>;

/** Whether a value is a mapping, not a list or scalar. */
export function isMapping(value: unknown): value is ConfigurationMapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
