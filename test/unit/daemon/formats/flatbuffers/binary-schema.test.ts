import { BASE_TYPE as TYPE } from '../../../../../src/contract/formats/flatbuffers-base-types.ts';
import { describe, expect, it } from 'vitest';
import { binarySchema, type SchemaDescription } from '../../../../../src/cli/dev/demo/binary-schema.ts';
import { readBinarySchema } from '../../../../../src/daemon/formats/flatbuffers/binary-schema.ts';
import { visitFlatBuffer } from '../../../../../src/daemon/formats/flatbuffers/visit-flatbuffer.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { SAMPLE_DESCRIPTION, SAMPLE_SCHEMA, sampleBuffer } from '../../../../support/flatbuffer-sample.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import { recordValues } from '../../../../support/record-values.ts';

/** The message of the error, which must be `schema_invalid`; `null` without one. */
function problemOf(bytes: Uint8Array): string | null {
  try {
    readBinarySchema(bytes);
    return null;
  } catch (error) {
    if (!(error instanceof FormatError) || error.code !== 'schema_invalid') throw error;
    return error.message;
  }
}

function withRootField(field: { base: number; element?: number; refersTo?: string }): SchemaDescription {
  return { root: 'Root', objects: [{ name: 'Root', fields: [{ name: 'field', ...field }] }] };
}

describe('the reader of binary FlatBuffers schemas', () => {
  it('reads tables, structs, unions, defaults and the root', () => {
    const schema = readBinarySchema(SAMPLE_SCHEMA);
    expect(schema.identifier).toBe('SAMP');
    expect(schema.objects.map(({ name }) => name)).toEqual(['Box', 'Child', 'Point', 'Root']);
    expect(schema.objects[2]).toMatchObject({ isStruct: true, bytes: 8 });
    expect(schema.root.name).toBe('Root');
    const declared = SAMPLE_DESCRIPTION.objects[0]?.fields ?? [];
    expect(schema.root.fields.map(({ name }) => name)).toEqual(
      declared.filter(({ deprecated }) => deprecated !== true).map(({ name }) => name),
    );
    expect(schema.root.fields.find(({ name }) => name === 'level')).toMatchObject({ defaultInteger: 7n });
    expect([...(schema.unions[0] ?? [])].map(([number, { base }]) => [number, base])).toEqual([
      [1, TYPE.object],
      [2, TYPE.string],
      [3, TYPE.object],
    ]);
  });

  it.each([
    ['an empty file', Buffer.alloc(0), /8 bytes|4 bytes/],
    ['another file', sampleBuffer(), 'the file is not a binary FlatBuffers schema (at byte 4)'],
    ['no root', binarySchema({ objects: [] }), /declares no root_type/],
    [
      'a root that is a struct',
      binarySchema({ root: 'Root', objects: [{ name: 'Root', structBytes: 4, fields: [] }] }),
      /has no table "Root", its root_type/,
    ],
    [
      'a struct without bytes',
      binarySchema({ root: 'Root', objects: [{ name: 'Root', structBytes: -4, fields: [] }] }),
      /the struct "Root" has -4 bytes/,
    ],
    [
      'a vector with 64-bit length',
      binarySchema(withRootField({ base: 18 })),
      /the type 18 is not supported/,
    ],
    [
      'a table that does not exist',
      binarySchema(withRootField({ base: TYPE.vector, element: TYPE.object, refersTo: 'Nothing' })),
      'the type of Root.field refers to number -1 of 1',
    ],
    [
      'a union that does not exist',
      binarySchema(withRootField({ base: TYPE.union })),
      'the type of Root.field refers to number -1 of 0',
    ],
  ])('finds %s', (_, bytes, message) => {
    expect(problemOf(bytes)).toMatch(message);
  });

  it('ends with an error at every 64th byte where a schema is cut', () => {
    for (let length = 0; length < SAMPLE_SCHEMA.length; length += 64) {
      expect(problemOf(SAMPLE_SCHEMA.subarray(0, length))).not.toBeNull();
    }
  });

  it('reads damaged schemas and a buffer by them, or ends with a code', () => {
    const buffer = sampleBuffer();
    const outcomes = new Set<string>();
    for (const bytes of mutations(SAMPLE_SCHEMA, { seed: 15, count: campaignSize(2000, 40_000) })) {
      try {
        const schema = readBinarySchema(bytes);
        visitFlatBuffer(buffer, schema, recordValues().visitor, {
          limits: READ_LIMITS,
          reportPartError: () => {},
        });
        outcomes.add('read');
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        outcomes.add(error.code);
      }
    }
    expect([...outcomes]).toEqual(expect.arrayContaining(['read', 'schema_invalid', 'flatbuffers_invalid']));
  });
});
