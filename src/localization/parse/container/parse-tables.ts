import { join } from 'node:path';
import type { ByteSource } from '../../../formats/byte-source.ts';
import { createStringCodec } from '../../../formats/codecs/string-codec.ts';
import { readBinarySchema, type BinarySchema } from '../../../formats/flatbuffers/binary-schema.ts';
import { visitFlatBuffer, type FlatBufferOptions } from '../../../formats/flatbuffers/visit-flatbuffer.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { visitSqlite } from '../../../formats/sqlite/visit-sqlite.ts';
import type { CompiledRule } from '../rules/compile-rules.ts';
import { collectorFor } from './collect-text.ts';
import { locationOf, readWhole, type ContainerRun, type ContainerScope, type Part } from './container-run.ts';
import { emitTexts, type TextOrigin } from './emit-texts.ts';
import { DOTTED_SYNTAX } from '../../../formats/collect/path-syntax.ts';
import { joinKeyPath } from './parsed-container.ts';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from '../../../platform/files/file-changes.ts';

const COPY_BYTES = 1024 * 1024;

/** Parses a FlatBuffers table by the schema of its rule. @throws FormatError when the table cannot be read */
export async function parseFlatBuffer(run: ContainerRun, part: Part, rule: CompiledRule): Promise<void> {
  const location = locationOf(part, 'flatbuffers');
  const collector = collectorFor(rule, DOTTED_SYNTAX);
  visitFlatBuffer(readWhole(run, part), schemaOf(rule), collector, {
    limits: run.limits,
    reportPartError: (error, path) => {
      run.report(location, error, path);
    },
    codecOf: codecOf(run, rule),
  });
  await emitTexts(tableOrigin(run, part, rule, location), collector.finish());
}

/**
 * Parses a SQLite database. SQLite reads a file, so the bytes are copied to one.
 *
 * @throws FormatError when the database cannot be read
 */
export async function parseSqlite(run: ContainerRun, part: Part, rule: CompiledRule): Promise<void> {
  const location = locationOf(part, 'sqlite');
  const collector = collectorFor(rule, DOTTED_SYNTAX);
  const copy = scratchCopy(run, part.source);
  try {
    visitSqlite(copy.path, collector, {
      limits: run.limits,
      reportPartError: (error, name) => {
        run.report(location, error, name);
      },
      onSkipped: () => {
        run.skip('not_a_table');
      },
      readsBlob: (_table, column) => rule.nestedFormat(column) !== undefined,
      onKeyText: (text) => {
        if (rule.hasSourceScript(text)) run.skip('part_of_key');
      },
    });
  } finally {
    copy.remove();
  }
  await emitTexts(tableOrigin(run, part, rule, location), collector.finish());
}

function tableOrigin(
  run: ContainerRun,
  part: Part,
  rule: CompiledRule,
  location: TextOrigin['location'],
): TextOrigin {
  return { run, part, rule, location, keyPrefix: joinKeyPath([part.entryKey, '', '']), fieldPrefix: '' };
}

/** Copies a source to a file, for readers that need one. */
export function scratchCopy(
  { scratchDirectory }: ContainerScope,
  source: ByteSource,
): {
  readonly path: string;
  remove(): void;
} {
  mkdirSync(scratchDirectory, { recursive: true, mode: 0o700 });
  const directory = mkdtempSync(join(scratchDirectory, 'sqlite-'));
  const remove = (): void => {
    rmSync(directory, { recursive: true, force: true });
  };
  const path = join(directory, 'database');
  try {
    copySource(source, path);
  } catch (error) {
    remove();
    throw error;
  }
  return { path, remove };
}

export function codecOf(
  { rules }: ContainerScope,
  { codec: name }: CompiledRule,
): NonNullable<FlatBufferOptions['codecOf']> {
  const codec = name === null ? null : createStringCodec(name, rules.secrets);
  return ({ stored }) => (stored === 'string' ? codec : null);
}

function copySource(source: ByteSource, path: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    for (let offset = 0; offset < source.size; offset += COPY_BYTES) {
      const chunk = source.read(offset, Math.min(COPY_BYTES, source.size - offset));
      for (let done = 0; done < chunk.length;) done += writeSync(descriptor, chunk, done);
    }
  } finally {
    closeSync(descriptor);
  }
}

const SCHEMAS = new WeakMap<Uint8Array, BinarySchema>();

/** The schema of a rule. @throws FormatError `schema_invalid` */
export function schemaOf({ schema }: CompiledRule): BinarySchema {
  if (schema === null) throw new FormatError('schema_invalid', 'the rule of this file names no schema');
  let found = SCHEMAS.get(schema);
  if (found === undefined) {
    found = readBinarySchema(schema);
    SCHEMAS.set(schema, found);
  }
  return found;
}
