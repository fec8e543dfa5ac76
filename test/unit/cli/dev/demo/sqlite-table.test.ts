import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DialogRow } from '../../../../../src/cli/dev/demo/dialog-row.ts';
import { writeSqliteTable } from '../../../../../src/cli/dev/demo/sqlite-table.ts';
import { visitSqlite } from '../../../../../src/daemon/formats/sqlite/visit-sqlite.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { recordValues, valuesOf } from '../../../../support/record-values.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const ROWS: readonly DialogRow[] = Array.from({ length: 500 }, (_, line) => ({
  id: 2n ** 60n + BigInt(line),
  speaker: 'アロナ',
  text: `${line}行目です。`,
}));

describe('the SQLite table of the demo', () => {
  it('reads back as its rows', async () => {
    const path = join(await temporaryDirectory(), 'demo.db');
    await writeSqliteTable(path, ROWS);
    const { visitor, events } = recordValues();
    visitSqlite(path, visitor, {
      limits: READ_LIMITS,
      reportPartError: (error) => {
        throw error;
      },
    });
    const { Dialog } = valuesOf(events) as { Dialog: Record<string, unknown>[] };
    expect(Dialog).toHaveLength(500);
    expect(Dialog[1]).toEqual({ Id: 2n ** 60n + 1n, Speaker: 'アロナ', TextJp: '1行目です。' });
  });

  it('has the same bytes every time, with a fixed version of SQLite', async () => {
    const directory = await temporaryDirectory();
    const paths = ['first.db', 'second.db'].map((name) => join(directory, name));
    for (const path of paths) await writeSqliteTable(path, ROWS);
    const [first, second] = paths.map((path) => readFileSync(path));
    expect(first?.equals(second ?? Buffer.alloc(0))).toBe(true);
    expect(first?.readUInt32BE(96)).toBe(3_053_000);
  });
});
