import { isRecord } from '../../domain/is-record.ts';
import { LineCounter, parseDocument } from 'yaml';
import { failure, success, type Result } from '../../domain/result.ts';
import type { ConfigurationMapping, ConfigurationModel } from './configuration-key.ts';

/** Maximum number of aliases of one file; YAML files of a few bytes can otherwise unfold to gigabytes. */
const MAX_ALIASES = 100;

/**
 * Parses a configuration file. JSON is YAML too.
 *
 * @returns the top-level mapping (empty for an empty file), or every syntax problem with line and column
 *
 * Source: YAML 1.2.2, core schema.
 */
export function parseConfigurationFile(
  text: string,
  file: string,
): Result<ConfigurationMapping, readonly string[]> {
  const lines = new LineCounter();
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: false, lineCounter: lines });
  if (document.errors.length > 0) {
    return failure(
      document.errors.map(({ message, pos: [start] }) => {
        const { line, col } = lines.linePos(start);
        return `config file ${file}: line ${line}, column ${col}: ${oneLine(message)}`;
      }),
    );
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    return failure([
      `config file ${file}: ${error instanceof Error ? oneLine(error.message) : 'unreadable'}`,
    ]);
  }
  if (value === null || value === undefined) return success({});
  if (!isRecord(value)) {
    return failure([`config file ${file}: must hold keys and values at the top level, such as "listen:"`]);
  }
  return success(value);
}

/**
 * Makes every section of the schema that is written in the file a mapping: an empty one (`listen:` alone) is one without
 * keys, anything else is a problem and is left out, so that the other sources can still be judged.
 *
 * @returns the problems, and the names of the sections that were left out
 */
export function normalizeSections(
  mapping: ConfigurationMapping,
  model: ConfigurationModel,
  file: string,
): { readonly rejected: readonly string[]; readonly problems: readonly string[] } {
  const rejected: string[] = [];
  const problems: string[] = [];
  for (const { path, name } of model.sections) {
    const parent = sectionAt(mapping, path.slice(0, -1));
    const last = path.at(-1) ?? '';
    if (parent === null || !Object.hasOwn(parent, last) || isRecord(parent[last])) continue;
    if (parent[last] === null) {
      parent[last] = {};
    } else {
      delete parent[last];
      rejected.push(name);
      problems.push(`config file ${file}: ${name}: is a section; write its keys below it`);
    }
  }
  return { rejected, problems };
}

/** The mapping at a path, or `null` when there is none. */
export function sectionAt(
  mapping: ConfigurationMapping,
  path: readonly string[],
): ConfigurationMapping | null {
  let current: unknown = mapping;
  for (const part of path) {
    if (!isRecord(current) || !Object.hasOwn(current, part)) return null;
    current = current[part];
  }
  return isRecord(current) ? current : null;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
