import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { signStatement } from '../../../../../src/attestation/sign.ts';
import { verifyEnvelope } from '../../../../../src/attestation/verify.ts';
import { openDatabase } from '../../../../../src/daemon/database/database.ts';
import {
  createOriginRepository,
  type OriginRepository,
} from '../../../../../src/daemon/releases/records/origin-repository.ts';
import type { AttestationStatement } from '../../../../../src/domain/verdict/attestation.ts';
import {
  createKeyPair,
  SAMPLE_MANIFEST_SHA256,
  sampleRelease,
  sampleStatement,
} from '../../../../support/attestations.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const [STOLEN, OWN] = [createKeyPair(), createKeyPair()];
const BASE = sampleStatement();
const FIRST = sampleRelease('r90_one', 'a');
const NEXT = sampleRelease('r91', 'e');
const LAST_STORE = '11111111-1111-4111-8111-111111111111';

let database: ReturnType<typeof openDatabase>;
let origins: OriginRepository;

beforeEach(async () => {
  database = openDatabase(join(await temporaryDirectory(), 'main.sqlite'));
  const opened = database;
  onTestFinished(() => {
    opened.close();
  });
  origins = createOriginRepository(database);
});

/** Records an attestation as an accepted one. */
function accept(change: Partial<AttestationStatement>, key = OWN): void {
  const envelope = signStatement({ ...BASE, ...change }, [key.signing], SAMPLE_MANIFEST_SHA256);
  const verified = verifyEnvelope(envelope, [key.trusted]);
  if (!verified.ok) throw new Error(verified.error.message);
  origins.record({ envelope, tag: null, cdnHost: 'cdn.example' }, verified.value);
}

const named = (release: typeof NEXT): number | null => origins.namedAt({ channel: 'official', ...release });

describe('the last naming of a release', () => {
  test('is that of the last attestation that names it, whatever later ones name', () => {
    expect(named(FIRST)).toBeNull();
    accept({ version: 5, issued_at: 1000, official: FIRST, retained: [] });
    accept({
      version: 6,
      issued_at: 2000,
      official: NEXT,
      retained: [{ ...FIRST, channel: 'official', retained_until: 9000 }],
    });
    expect(named(FIRST)).toBe(2000);
    expect(named({ ...FIRST, snapshot_id: NEXT.snapshot_id })).toBeNull();
    expect(origins.namedAt({ channel: 'localized', ...FIRST })).toBeNull();
  });

  test('counts a release whose files are damaged at the origin', () => {
    accept({
      issued_at: 1000,
      official: {
        ...FIRST,
        result: 'FAILED',
        failure: { reason: 'EntryDamaged', entry_count: 1, examples: ['a'] },
      },
      localized: null,
      retained: [],
    });
    expect(named(FIRST)).toBe(1000);
  });

  test('of a database of an earlier version is that of the newest attestation', () => {
    accept({ version: 5, issued_at: 1000, official: FIRST, retained: [] });
    database.prepare('DELETE FROM origin_naming').run();
    expect(named(FIRST)).toBe(1000);
    expect(named(NEXT)).toBeNull();
  });

  test('leaves the database when the release is not here and no longer named', () => {
    accept({ version: 5, issued_at: 1000, official: FIRST, localized: null, retained: [] });
    accept({ version: 6, issued_at: 2000, official: NEXT, localized: null, retained: [] });
    expect(database.prepare('SELECT release_id FROM origin_naming').all()).toEqual([{ release_id: 'r91' }]);
  });
});

describe('a key that is no longer trusted', () => {
  test('supports nothing, and its high version stands in the way of no lower one', () => {
    origins.trust([OWN.trusted, STOLEN.trusted]);
    accept({
      version: 5,
      issued_at: 1000,
      store_id: LAST_STORE,
      official: FIRST,
      localized: null,
      retained: [],
    });
    accept({ version: 2 ** 40, issued_at: 1500, official: NEXT, localized: null, retained: [] }, STOLEN);
    expect(origins.held()).toMatchObject({ version: 2 ** 40 });

    origins.trust([OWN.trusted]);
    expect(origins.held()).toMatchObject({ version: 5, storeId: LAST_STORE });
    expect(origins.of(BASE.store_id)).toBeNull();
    expect(origins.last()).toMatchObject({ version: 5 });
    expect(named(NEXT)).toBeNull();
    expect(named(FIRST)).toBe(1000);

    accept({ version: 6, issued_at: 2000, official: FIRST, retained: [] });
    expect(origins.last()).toMatchObject({ version: 6, storeId: BASE.store_id });
  });

  test('counts again when it is trusted again, so that a wrong setting forgets nothing', () => {
    accept({ version: 5, issued_at: 1000 });
    origins.trust([STOLEN.trusted]);
    expect(origins.held()).toBeNull();
    origins.trust([OWN.trusted]);
    expect(origins.held()).toMatchObject({ version: 5 });
  });
});
