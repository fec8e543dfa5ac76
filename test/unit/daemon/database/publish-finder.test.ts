import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { MAIN_MIGRATIONS } from '../../../../src/daemon/database/database.ts';
import { migrate } from '../../../../src/daemon/database/migrate.ts';
import type { DamagedEntry } from '../../../../src/daemon/releases/records/damage-records.ts';
import { createReleaseRepository } from '../../../../src/daemon/releases/records/release-repository.ts';
import type { Blake3Hex } from '../../../../src/domain/release/digest.ts';
import type { ReleaseId } from '../../../../src/domain/release/release-id.ts';
import { releaseRow } from '../releases/release-row-fixture.ts';

it('damage that an earlier version recorded stays recorded, and a publish can find more', () => {
  const raw = new DatabaseSync(':memory:');
  onTestFinished(() => {
    raw.close();
  });
  const upTo = (version: number): void => {
    migrate(raw, ':memory:', MAIN_MIGRATIONS.slice(0, version), (section) => section());
  };
  const records = (): ReturnType<typeof createReleaseRepository> =>
    createReleaseRepository({ prepare: (sql) => raw.prepare(sql), transaction: (section) => section() });
  const entry = (destination: string, found_by: DamagedEntry['found_by']): DamagedEntry => ({
    channel: 'official',
    release_id: '1.0' as ReleaseId,
    destination,
    blake3: 'b3' as Blake3Hex,
    status: 'missing',
    found_at: 5,
    found_by,
  });
  upTo(14);
  records().insert(releaseRow('1.0'));
  records().addDamage(entry('a', 'sync'));
  expect(() => {
    records().addDamage(entry('b', 'publish'));
  }).toThrow('CHECK');
  upTo(15);
  records().addDamage(entry('b', 'publish'));
  expect(records().damageOf('official', '1.0', 10)).toEqual([entry('a', 'sync'), entry('b', 'publish')]);
});
