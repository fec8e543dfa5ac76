import { coerceText } from './coerce-text.ts';
import {
  ENVIRONMENT_PREFIX,
  environmentName,
  type ConfigurationModel,
  type ConfigurationLayer,
  type Setting,
} from './configuration-key.ts';

/**
 * Variables that Kubernetes sets for a Service named `slipway-...` (Docker links): they are not configuration.
 *
 * Source: Kubernetes documentation, "Accessing the Service", environment variables.
 */
const SERVICE_LINK_NAME =
  /_SERVICE_(?:HOST|PORT)(?:_[A-Z0-9_]+)?$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/;
const SERVICE_LINK_VALUE = /^(?:tcp|udp|sctp):\/\//;

/**
 * Reads the `SLIPWAY_` variables. A variable that names no key is a problem if it begins like a section of this schema, or
 * differs from a known name only in its underscores. Others may belong to another process and are ignored.
 */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  model: ConfigurationModel,
): ConfigurationLayer {
  const byName = new Map(model.keys.map((key) => [key.env, key]));
  const byLetters = new Map(model.keys.map((key) => [letters(key.env), key.env]));
  const sections = model.sections.map(({ path }) => `${environmentName(path)}_`);
  const settings: Setting[] = [];
  const problems: string[] = [];
  const rejected: string[] = [];
  for (const [name, text] of Object.entries(env).sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (text === undefined || !name.startsWith(ENVIRONMENT_PREFIX) || isServiceLink(name, text)) continue;
    const origin = `environment ${name}`;
    const key = byName.get(name);
    const meant = byLetters.get(letters(name));
    if (key !== undefined) {
      const value = coerceText(key.types, key.itemTypes, text);
      if (value.ok) {
        settings.push({ key, value: value.value, origin });
      } else {
        rejected.push(key.name);
        problems.push(`${origin}: ${value.error}`);
      }
    } else if (meant !== undefined) {
      problems.push(`${origin}: unknown variable; did you mean ${meant}?`);
    } else if (sections.some((section) => name.startsWith(section))) {
      problems.push(`${origin}: unknown variable; --help lists all`);
    }
  }
  return { settings, problems, rejected };
}

function isServiceLink(name: string, text: string): boolean {
  return SERVICE_LINK_NAME.test(name) || (name.endsWith('_PORT') && SERVICE_LINK_VALUE.test(text));
}

function letters(name: string): string {
  return name.replaceAll('_', '').toUpperCase();
}
