import { isRecord } from '../../domain/is-record.ts';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { describeConfiguration, type ConfigurationKey } from './configuration-key.ts';
import { redactValue } from './redact.ts';

/**
 * Renders the effective configuration as YAML that can be used as a file again, except for secrets:
 * credentials and queries of URLs, and keys marked `.meta({ secret: true })`.
 */
export function renderConfiguration(schema: z.ZodType, config: unknown): string {
  const secrets = new Set(
    describeConfiguration(schema)
      .keys.filter(({ secret }) => secret)
      .map(({ name }) => name),
  );
  const render = (value: unknown, name: string): unknown =>
    isRecord(value) && !secrets.has(name)
      ? Object.fromEntries(
          Object.entries(value).map(([key, item]) => [
            key,
            render(item, name === '' ? key : `${name}.${key}`),
          ]),
        )
      : redactValue(value, secrets.has(name));
  return stringify(render(config, ''), { lineWidth: 0 });
}

/** Renders the text of `--help`: every key with its type, default, variable and purpose. */
export function renderConfigurationHelp(schema: z.ZodType, name: string): string {
  const entries = describeConfiguration(schema).keys.map((key) =>
    [
      `  --${key.name}=<${renderType(key)}>`,
      `      ${key.description}`.trimEnd(),
      `      ${renderDefault(key)}; ${key.env}`,
    ]
      .filter((line) => line !== '')
      .join('\n'),
  );
  return `Usage: ${name} [--config FILE] [--KEY=VALUE ...] [--print-config] [--help]

Every key can be set in the file (YAML or JSON), in the environment and as a flag; later ones win.

  --config FILE     reads a configuration file
  --print-config    prints the effective configuration, without secrets, and exits
  --help            prints this text

${entries.join('\n\n')}
`;
}

/** Renders the reference of a schema as a Markdown section with one aligned table. */
export function renderConfigurationReference(schema: z.ZodType, title: string): string {
  const rows = describeConfiguration(schema).keys.map((key) => [
    `\`${key.name}\``,
    renderType(key),
    renderDefault(key).replace(/^default /, ''),
    `\`${key.env}\``,
    key.description,
  ]);
  return `## ${title}\n\n${renderTable(['Key', 'Type', 'Default', 'Environment', 'Description'], rows)}`;
}

/** The type of a key, such as `integer 0 to 65535`, `official or localized`, `list of string`. */
export function renderType({ types, itemTypes, choices, minimum, maximum }: ConfigurationKey): string {
  if (choices.length > 0) return choices.map(String).join(' or ');
  if (types.has('array')) {
    return itemTypes.size === 0 ? 'list' : `list of ${[...itemTypes].join(' or ')}`;
  }
  const type = types.size === 0 ? 'any' : [...types].join(' or ');
  if (minimum !== undefined && maximum !== undefined) return `${type} ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${type} from ${minimum}`;
  return maximum === undefined ? type : `${type} to ${maximum}`;
}

/** The default of a key, such as `default 8080`; `required` or `not set` without one. */
export function renderDefault(key: ConfigurationKey): string {
  if (key.default === undefined) return key.required ? 'required' : 'not set';
  return `default ${JSON.stringify(redactValue(key.default, key.secret))}`;
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((title, at) =>
    Math.max(title.length, ...escaped.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |\n`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |\n`;
  return line(head) + rule + escaped.map(line).join('');
}
