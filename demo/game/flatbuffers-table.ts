import { BASE_TYPE } from '../../src/formats/flatbuffers/binary-schema.ts';
import { Builder } from 'flatbuffers';

import { binarySchema } from './binary-schema.ts';
import type { DialogRow } from './dialog-row.ts';

/**
 * The binary schema of {@link flatBuffersTable}:
 *
 * ```
 * table DialogRow { id:long; speaker:string; text:string; }
 * table DialogTable { rows:[DialogRow]; }
 * root_type DialogTable;
 * ```
 */
export function flatBuffersTableSchema(): Uint8Array {
  return binarySchema({
    root: 'DialogTable',
    objects: [
      {
        name: 'DialogRow',
        fields: [
          { name: 'id', base: BASE_TYPE.long },
          { name: 'speaker', base: BASE_TYPE.string },
          { name: 'text', base: BASE_TYPE.string },
        ],
      },
      {
        name: 'DialogTable',
        fields: [{ name: 'rows', base: BASE_TYPE.vector, element: BASE_TYPE.object, refersTo: 'DialogRow' }],
      },
    ],
  });
}

/** Writes a table of lines. Equal strings are stored once. The same rows give the same bytes. */
export function flatBuffersTable(rows: readonly DialogRow[]): Uint8Array {
  const builder = new Builder(1024);
  const written = rows.map(({ id, speaker, text }) => {
    const speakerOffset = writeString(builder, speaker);
    const textOffset = writeString(builder, text);
    builder.startObject(3);
    builder.addFieldInt64(0, id, 0n);
    builder.addFieldOffset(1, speakerOffset, 0);
    builder.addFieldOffset(2, textOffset, 0);
    return builder.endObject();
  });
  builder.startVector(4, written.length, 4);
  for (const row of written.toReversed()) builder.addOffset(row);
  const vector = builder.endVector();
  builder.startObject(1);
  builder.addFieldOffset(0, vector, 0);
  builder.finish(builder.endObject());
  return builder.asUint8Array();
}

/** The library takes a shared empty string for an absent field. */
function writeString(builder: Builder, text: string): number {
  return text === '' ? builder.createString(text) : builder.createSharedString(text);
}
