import { UNIT_FORMATS, unitFormatOfName, type UnitFormatName } from '../../../exchange/units/unit-formats.ts';
import type { ReadResult, UnitLanguages } from '../../../exchange/units/unit-record.ts';
import { textOption, type CtlArguments } from '../ctl-options.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { readLocalFile } from '../read-local-file.ts';

/** A file of units that was read to its end. */
export interface UnitFile {
  readonly path: string;
  /** Of its bytes, hexadecimal. */
  readonly sha256: string;
  readonly languages: Partial<UnitLanguages>;
  readonly results: readonly ReadResult[];
}

const BOUNDS = {
  maxBytes: 512 * 1024 * 1024,
  maxItems: 200_000,
  items: 'units',
  advice: 'export and import parts of it with --destination or --task',
} as const;

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

/** Reads a file of units to its end. @throws CtlFailure for a file that cannot be read, is refused, or is beyond the bounds */
export async function readUnitFile(path: string, args: CtlArguments): Promise<UnitFile> {
  const format = unitFormatOf(path, args);
  const reader = UNIT_FORMATS[format].createReader();
  const { items, sha256 } = await readLocalFile(path, reader, BOUNDS);
  return { path, sha256, languages: reader.languages(), results: items };
}
