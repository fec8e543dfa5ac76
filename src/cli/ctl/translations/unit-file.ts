import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { UNIT_FORMATS, unitFormatOfName, type UnitFormatName } from '../../../exchange/units/unit-formats.ts';
import type { ReadResult, UnitLanguages } from '../../../exchange/units/unit-record.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { messageOf } from '../../../platform/errors.ts';
import { textOption, type CtlArguments } from '../ctl-options.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

/** A file of units that was read to its end. */
export interface UnitFile {
  readonly path: string;
  readonly format: UnitFormatName;
  /** Of its bytes, hexadecimal. */
  readonly sha256: string;
  /** The languages that it names. */
  readonly languages: Partial<UnitLanguages>;
  readonly results: readonly ReadResult[];
}

/** Bounds of one file: its units are in memory while they are compared with those of the service. */
export const MAX_FILE_BYTES = 512 * 1024 * 1024;
export const MAX_FILE_UNITS = 200_000;

/**
 * The format of a file: `--format`, or that of its ending.
 *
 * @throws CtlFailure
 */
export function unitFormatOf(path: string, args: CtlArguments): UnitFormatName {
  const names = Object.keys(UNIT_FORMATS).join(', ');
  const given = textOption(args, 'format');
  if (given !== undefined) {
    if (Object.hasOwn(UNIT_FORMATS, given)) return given as UnitFormatName;
    throw new CtlFailure(CTL_EXITS.usage, `--format ${given}: must be one of ${names}`);
  }
  const format = unitFormatOfName(path);
  if (format !== null) return format;
  throw new CtlFailure(
    CTL_EXITS.usage,
    `${path}: the name says no format; end it with .xlf, .csv or .jsonl, or give --format (${names})`,
  );
}

/**
 * Reads a file of units completely.
 *
 * @throws CtlFailure for a file that cannot be read, that is refused, or that is beyond the bounds
 */
export async function readUnitFile(path: string, args: CtlArguments): Promise<UnitFile> {
  const format = unitFormatOf(path, args);
  const reader = UNIT_FORMATS[format].createReader();
  const hash = createHash('sha256');
  const results: ReadResult[] = [];
  let bytes = 0;
  const take = (read: readonly ReadResult[]): void => {
    for (const result of read) results.push(result);
    if (results.length > MAX_FILE_UNITS) {
      throw tooLarge(path, `${MAX_FILE_UNITS} units`);
    }
  };
  try {
    for await (const piece of createReadStream(path)) {
      const part = piece as Buffer;
      bytes += part.length;
      if (bytes > MAX_FILE_BYTES) throw tooLarge(path, `${MAX_FILE_BYTES} bytes`);
      hash.update(part);
      take(reader.write(part));
    }
    take(reader.end());
  } catch (error) {
    if (error instanceof ExchangeFileError) {
      throw new CtlFailure(CTL_EXITS.failed, `${path}: ${error.message} (${error.reason})`, { cause: error });
    }
    if (errorCode(error) === null) throw error;
    throw new CtlFailure(CTL_EXITS.usage, `cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
  return { path, format, sha256: hash.digest('hex'), languages: reader.languages(), results };
}

function tooLarge(path: string, bound: string): CtlFailure {
  return new CtlFailure(
    CTL_EXITS.usage,
    `${path} has more than ${bound}; export and import parts of it with --destination or --task`,
  );
}
