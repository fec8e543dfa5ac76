import { describe, expect, it } from 'vitest';
import type { DialogRow } from '../../../../../src/cli/dev/demo/dialog-row.ts';
import {
  flatBuffersTable,
  flatBuffersTableSchema,
} from '../../../../../src/cli/dev/demo/flatbuffers-table.ts';
import { readBinarySchema } from '../../../../../src/daemon/formats/flatbuffers/binary-schema.ts';
import { visitFlatBuffer } from '../../../../../src/daemon/formats/flatbuffers/visit-flatbuffer.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { recordValues, valuesOf } from '../../../../support/record-values.ts';

const ROWS: readonly DialogRow[] = [
  { id: 2n ** 60n, speaker: 'アロナ', text: '先生、おはようございます。' },
  { id: 0n, speaker: 'アロナ', text: '' },
  { id: -5n, speaker: 'プラナ', text: '<ruby>漢字</ruby>\n𠮟る' },
];

describe('the FlatBuffers table of the demo', () => {
  it('reads back as its rows', () => {
    const { visitor, events } = recordValues();
    visitFlatBuffer(flatBuffersTable(ROWS), readBinarySchema(flatBuffersTableSchema()), visitor, {
      limits: READ_LIMITS,
      reportPartError: (error) => {
        throw error;
      },
    });
    expect(valuesOf(events)).toEqual({
      rows: [
        { id: 2n ** 60n, speaker: 'アロナ', text: '先生、おはようございます。' },
        { id: 0, speaker: 'アロナ', text: '' },
        { id: -5, speaker: 'プラナ', text: '<ruby>漢字</ruby>\n𠮟る' },
      ],
    });
  });

  it('has the same bytes every time', () => {
    expect(Buffer.from(flatBuffersTable(ROWS))).toEqual(Buffer.from(flatBuffersTable(ROWS)));
    expect(Buffer.from(flatBuffersTableSchema())).toEqual(Buffer.from(flatBuffersTableSchema()));
  });
});
