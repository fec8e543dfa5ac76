import { failure, success, type Result } from '../../domain/result.ts';

const DECIMAL = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * Turns the text of a flag or an environment variable into a value of the key's type: numbers are decimal, booleans
 * `true` or `false`, lists separated by commas (or a JSON array), mappings JSON. The schema judges the value afterwards.
 *
 * @returns the value, or one sentence that says how to write it
 */
export function coerceText(
  types: ReadonlySet<string>,
  itemTypes: ReadonlySet<string>,
  text: string,
): Result<unknown, string> {
  if (types.has('array')) return coerceList(text, itemTypes);
  if (types.has('boolean') && (text === 'true' || text === 'false')) return success(text === 'true');
  if ((types.has('number') || types.has('integer')) && DECIMAL.test(text)) return success(Number(text));
  if (types.has('null') && text === 'null') return success(null);
  if (types.has('string') || types.size === 0) return success(text);
  if (types.has('object')) return parseJson(text, 'a JSON object');
  if (types.has('boolean')) return failure('must be true or false');
  return failure('must be a decimal number');
}

function coerceList(text: string, itemTypes: ReadonlySet<string>): Result<unknown, string> {
  if (text.trimStart().startsWith('[')) return parseJson(text, 'a JSON array or a list separated by commas');
  const items: unknown[] = [];
  for (const part of text.split(',')) {
    const trimmed = part.trim();
    if (trimmed === '') continue;
    const item = coerceText(itemTypes, new Set(), trimmed);
    if (!item.ok) return failure(`each item ${item.error}`);
    items.push(item.value);
  }
  return success(items);
}

function parseJson(text: string, what: string): Result<unknown, string> {
  try {
    return success(JSON.parse(text));
  } catch {
    return failure(`must be ${what}`);
  }
}
