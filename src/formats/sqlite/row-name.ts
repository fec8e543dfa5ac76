import { FormatError } from '../format-error.ts';
import type { Cell } from './row-query.ts';
import { bufferOf } from '../../platform/buffer-of.ts';

/**
 * Names a row by the values of its key, as SQL literals joined by commas: `7`, `'scene-1','ja'`, `x'00ff'`. No two keys
 * of a table have the same name.
 *
 * @throws FormatError `field_too_large`, and what `decode` throws
 */
export function rowName(keys: readonly Cell[], decode: (bytes: Buffer) => string): string {
  return keys.map((key) => literal(key, decode)).join(',');
}

function literal({ type, value }: Cell, decode: (bytes: Buffer) => string): string {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (!(value instanceof Uint8Array))
    throw new FormatError('field_too_large', 'the key of a row is too long');
  const bytes = bufferOf(value);
  return type === 'text' ? `'${decode(bytes).replaceAll("'", "''")}'` : `x'${bytes.toString('hex')}'`;
}
