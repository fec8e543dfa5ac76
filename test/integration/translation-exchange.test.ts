import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeZip } from '../../demo/game/demo-zip.ts';
import { bytesSource } from '../../src/formats/byte-source.ts';
import { READ_LIMITS } from '../../src/formats/value-visitor.ts';
import { openZip } from '../../src/formats/zip/open-zip.ts';
import { ctl, type CtlRun } from '../support/ctl.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { hasTool } from '../support/tools.ts';
import { startTranslationSystem, type TextFiles } from '../support/translation-system.ts';
import { hasXliffSchemas, validateXliff } from '../support/xliff-schemas.ts';

/** One file for each test, so that they do not see each other's targets. */
const TOPICS = [
  'repeated',
  'xliff',
  'tools',
  'sheet',
  'csv',
  'api',
  'conflict',
  'returned',
  'blocked',
  'undo',
  'next',
  'twice',
] as const;
type Topic = (typeof TOPICS)[number];

const textsOf = (topic: Topic): readonly string[] => [
  `おはよう{0}、${topic}`,
  `<b>さようなら</b>、${topic}`,
  `先生、${topic}\n=1+1`,
];
const FILES: TextFiles = {
  ...Object.fromEntries(TOPICS.map((topic) => [`${topic}.json`, textsOf(topic)])),
  'repeated-1.json': ['はい', 'いいえ'],
  'repeated-2.json': ['いいえ', 'はい'],
};
const CONFIGURATION = {
  parse: { rules: [{ destination: ['blocked.json'], limits: [{ maxCharacters: 12 }] }] },
};
const TARGETS = ['早上好{0}', '<b>再见</b>', '老师\n=1+1'];

const python = hasTool('python3');
if (!python) console.warn('SKIPPED: the translator with the csv module of Python (python3 is missing)');
const toolkit = pythonProgram('translation-tools', null);
const FILL_TABLE = `
import csv, sys
with open(sys.argv[1], newline="", encoding="utf-8-sig") as file:
    rows = list(csv.DictReader(file))
targets = sys.argv[2:]
for row, target in zip(rows, targets):
    row["target_text"] = target
with open(sys.argv[1], "w", newline="", encoding="utf-8") as file:
    writer = csv.DictWriter(file, fieldnames=rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
`;

const started = sharedFixture(async (atEnd) => {
  const [admin = '', ann = '', ben = ''] = await Promise.all(
    ['admin-token-4711', 'ann-token-4711', 'ben-token-4711'].map(
      async (token) => await writeTokenFile(token, atEnd),
    ),
  );
  const server = {
    admin: { tokenFiles: [admin], exposeControl: true },
    auth: {
      tokens: [
        { file: ann, id: 'ann', allow: ['translate'] },
        { file: ben, id: 'ben', allow: ['translate'] },
      ],
    },
  };
  const system = await startTranslationSystem(FILES, CONFIGURATION, atEnd, server);
  return { ...system, tokens: { ann, ben } };
});

/** The work on the file of a topic: its task, its units, and commands by a translator. */
async function open(topic: Topic) {
  const { tokens, ...system } = started();
  const destination = `${topic}.json`;
  const folder = await temporaryDirectory();
  const run = async (who: 'ann' | 'ben', ...argv: readonly string[]): Promise<CtlRun> => {
    const token = tokens[who] ?? '';
    return await ctl(['--url', system.system.serverUrl, '--token-file', token, 'translations', ...argv]);
  };
  const { task_id: taskId } = await system.task(destination);
  return {
    ...system,
    destination,
    taskId,
    pathOf: (name: string): string => join(folder, name),
    ann: async (...argv: readonly string[]) => await run('ann', ...argv),
    ben: async (...argv: readonly string[]) => await run('ben', ...argv),
    translations: async () => {
      const { items } = await system.report('parse.text_units', { destination });
      return (items as { translation: { target_text: string; state: string; author: object | null } }[]).map(
        ({ translation }) => translation,
      );
    },
  };
}

/** The two files whose texts repeat each other. */
async function openRepeated() {
  const world = await open('repeated');
  return {
    ...world,
    units: async () => {
      const { items } = await world.report('parse.text_units', { path_pattern: 'repeated-*' });
      return (items as { translation: { target_text: string | null } }[]).map(
        ({ translation }) => translation.target_text,
      );
    },
  };
}

const targetsOf = (units: readonly { target_text: string }[]) => units.map(({ target_text: text }) => text);

/** Fills the targets in order, as a translator does in a program for XLIFF 1.2. */
async function fillXliff(path: string, targets: readonly string[]): Promise<void> {
  const escaped = targets.map((text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'));
  let at = 0;
  const text = (await readFile(path, 'utf8')).replaceAll(/<target[^>]*>[^]*?<\/target>/g, (target) => {
    const filled = escaped[at];
    at += 1;
    return filled === undefined ? target : `<target state="translated">${filled}</target>`;
  });
  await writeFile(path, text);
}

describe('a translator with files and a running service', () => {
  it('takes text out as XLIFF 1.2, works on it, checks it and brings it back as translated', async () => {
    const { ann, pathOf, destination, taskId, translations, ...system } = await open('xliff');
    const path = pathOf('work.xlf');
    const exported = await ann('export', path, '--task', taskId);
    expect([exported.code, exported.out]).toEqual([
      0,
      expect.stringContaining('3 in 1 task (3 untranslated)'),
    ]);
    if (hasXliffSchemas) await validateXliff('xliff-1.2', path);
    await fillXliff(path, [TARGETS[0]!, '再见', TARGETS[2]!]);
    const checked = await ann('check', path, '--server');
    expect([checked.code, checked.out]).toEqual([
      1,
      expect.stringMatching(/work\.xlf:\d+: error: tag_mismatch/),
    ]);
    await fillXliff(path, TARGETS);
    expect(await ann('check', path, '--server')).toMatchObject({ code: 0 });
    const imported = await ann('import', path, '--status', 'translated');
    expect([imported.code, imported.err]).toEqual([0, '']);
    expect(imported.out).toContain('1 task is translated');
    expect(await system.task(destination)).toMatchObject({
      status: 'translated',
      unit_counts: { translated: 3 },
    });
    const done = await translations();
    expect(targetsOf(done)).toEqual(TARGETS);
    const run = /run (file:[0-9a-f]{32})/.exec(imported.out)?.[1];
    expect(done[0]?.author).toEqual({
      kind: 'import',
      token_id: 'ann',
      provider: 'file',
      provider_run_id: run,
    });
    const { history } = await system.report('parse.text_units', { destination, field_path: '/0/Text' });
    expect(history).toMatchObject({ items: [{ target_text: TARGETS[0], author: { token_id: 'ann' } }] });
  });

  it.skipIf(toolkit === null)('works on XLIFF 1.2 and 2.1 and on PO with translate-toolkit', async () => {
    const { ann, pathOf, destination, translations } = await open('tools');
    const script = resolve(import.meta.dirname, '../support/translate-files.py');
    for (const format of ['xliff-1.2', 'xliff-2.1', 'po']) {
      const [path, filled] = [pathOf(`${format}.xlf`), pathOf(`${format}-filled.xlf`)];
      await ann('export', path, '--destination', destination, '--format', format);
      const read = execFileSync(toolkit ?? '', [script, 'read', path], { encoding: 'utf8' });
      expect((JSON.parse(read) as [string, string][]).map(([, source]) => source)).toEqual(textsOf('tools'));
      execFileSync(toolkit ?? '', [script, 'fill', path, filled]);
      const imported = await ann('import', filled, '--format', format);
      expect([imported.code, imported.err]).toEqual([0, '']);
      expect(targetsOf(await translations())).toEqual(textsOf('tools').map((text) => `T:${text}`));
    }
  });

  it('takes text out as a workbook, fills its cells, and brings it back', async () => {
    const { ann, pathOf, destination, translations } = await open('sheet');
    const path = pathOf('work.xlsx');
    await ann('export', path, '--destination', destination);
    const zip = openZip(bytesSource(await readFile(path)), READ_LIMITS);
    const parts = zip.entries.map((entry) => ({ name: entry.name, text: zip.readEntry(entry).toString() }));
    // As a spreadsheet stores what is typed into the cells of the column target_text, which are text.
    const files = parts.map(({ name, text }) => {
      const filled = text.replaceAll(/<c r="D([234])" s="3"\/>/g, (_cell, row: string) => {
        const typed = TARGETS[Number(row) - 2]!.replaceAll('<', '&lt;');
        return `<c r="D${row}" s="3" t="str"><v>${typed}</v></c>`;
      });
      return { name, bytes: Buffer.from(filled) };
    });
    await writeFile(path, await writeZip(files));
    const imported = await ann('import', path);
    expect([imported.code, imported.err]).toEqual([0, '']);
    expect(targetsOf(await translations())).toEqual(TARGETS);
  });

  it.skipIf(!python)(
    'takes text out as CSV, works on it with the csv module of Python, and brings it back',
    async () => {
      const { ann, pathOf, destination, translations } = await open('csv');
      const path = pathOf('work.csv');
      await ann('export', path, '--destination', destination);
      // A text that a spreadsheet would run as a formula has an apostrophe, in both directions.
      const guarded = "'=1+1，老师\n=1+1";
      execFileSync('python3', ['-c', FILL_TABLE, path, TARGETS[0]!, TARGETS[1]!, guarded]);
      const imported = await ann('import', path);
      expect([imported.code, imported.err]).toEqual([0, '']);
      expect(targetsOf(await translations())).toEqual([TARGETS[0], TARGETS[1], '=1+1，老师\n=1+1']);
    },
  );

  it('does the same by the API alone', async () => {
    const { system, destination, taskId, translations } = await open('api');
    const { ann } = started().tokens;
    const authorization = `Bearer ${(await readFile(ann ?? '', 'utf8')).trim()}`;
    const response = await fetch(`${system.serverUrl}/admin/parse/text-units?destination=${destination}`, {
      headers: { authorization },
    });
    interface Page {
      readonly items: readonly { unit_id: string; source_text: string; translation: { revision: number } }[];
    }
    const { items } = (await response.json()) as Page;
    const send = async (body: object): Promise<Response> =>
      await fetch(`${system.serverUrl}/admin/control/translation-task-update`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ task_id: taskId, ...body }),
      });
    const results = items.map(({ unit_id, source_text }, at) => ({
      unit_id,
      source_text,
      translated_text: TARGETS[at],
    }));
    const args = items.map(({ unit_id: id, translation: { revision } }) => `expect=${id}:${revision}`);
    expect((await send({ status: 'translated', args, translation_results: results })).status).toBe(202);
    expect(targetsOf(await translations())).toEqual(TARGETS);
    // The same revisions again: someone has changed the units since, in this case the caller.
    const late = await send({ args, translation_results: results });
    expect([late.status, ((await late.json()) as { daemon: object }).daemon]).toMatchObject([
      502,
      { status: 409, code: 'revision_changed' },
    ]);
  });

  it('does not overwrite what someone else has changed since the export, and stores the rest with --partial', async () => {
    const { ann, ben, pathOf, destination, translations } = await open('conflict');
    const [first, second] = [pathOf('ann.jsonl'), pathOf('ben.jsonl')];
    await ann('export', first, '--destination', destination);
    await ben('export', second, '--destination', destination);
    const fill = async (path: string, targets: readonly (string | null)[]): Promise<void> => {
      const [head, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\n');
      const filled = lines.map((line, at) =>
        (targets[at] ?? null) === null
          ? line
          : JSON.stringify({ ...(JSON.parse(line) as object), target_text: targets[at] }),
      );
      await writeFile(path, `${[head, ...filled].join('\n')}\n`);
    };
    await fill(second, ['早安{0}']);
    expect((await ben('import', second)).code).toBe(0);
    await fill(first, [TARGETS[0]!, TARGETS[1]!]);
    const refused = await ann('import', first);
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining(`${first}:2: conflict: `)]);
    expect(targetsOf(await translations())).toEqual(['早安{0}', null, null]);
    expect((await ann('import', first, '--partial')).code).toBe(1);
    expect(targetsOf(await translations())).toEqual(['早安{0}', TARGETS[1], null]);
    // Ann corrects her own work in the same file. The unit that Ben has translated stays his.
    await fill(first, [null, '<b>改</b>']);
    const corrected = await ann('import', first, '--partial');
    expect([corrected.code, corrected.out]).toEqual([1, expect.stringContaining('1 stored: ')]);
    expect(targetsOf(await translations())).toEqual(['早安{0}', '<b>改</b>', null]);
    // Ben's file still has no target for the second unit, and the one of the first is stored already.
    const again = await ben('import', second);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('1 unchanged')]);
  });

  it('tells a translator why a task was returned, and takes the correction of the same file', async () => {
    const { ann, pathOf, destination, taskId, translations, ...system } = await open('returned');
    const [path, noted] = [pathOf('work.xlf'), pathOf('noted.jsonl')];
    await ann('export', path, '--task', taskId);
    await fillXliff(path, TARGETS);
    expect(await ann('import', path, '--status', 'translated')).toMatchObject({ code: 0 });
    const reason = 'the tone is too formal';
    const { status } = await system.act('translation-proofread', {
      task_id: taskId,
      status: 'pending',
      reviewer: 'Rin',
      reason,
    });
    expect(status).toBe(202);
    await ann('export', noted, '--task', taskId);
    expect(await readFile(noted, 'utf8')).toContain(`"note":"Task: ${reason}"`);
    const shown = await ann('unit', destination, '/0/Text');
    expect(shown.out).toContain(`Rin: ${reason}`);
    await fillXliff(path, ['早{0}', TARGETS[1]!, TARGETS[2]!]);
    const corrected = await ann('import', path, '--status', 'translated');
    expect([corrected.code, corrected.out]).toEqual([0, expect.stringContaining('1 task is translated')]);
    expect(targetsOf(await translations())).toEqual(['早{0}', TARGETS[1], TARGETS[2]]);
  });

  it('stores blocked targets as such, refuses them as translated, and names limits and lines', async () => {
    const { ann, pathOf, destination, taskId, translations, ...system } = await open('blocked');
    const path = pathOf('work.xlf');
    await ann('export', path, '--task', taskId);
    await fillXliff(path, ['一二三四五六七八九十一二{0}', TARGETS[1]!, TARGETS[2]!]);
    // The checks of a file alone do not know the limit of the field.
    expect((await ann('check', path)).out).not.toContain('max');
    const tried = await ann('check', path, '--server');
    expect([tried.code, tried.out]).toEqual([
      1,
      expect.stringMatching(/work\.xlf:\d+: error: too_many_characters/),
    ]);
    const refused = await ann('import', path, '--status', 'translated');
    expect([refused.code, refused.out]).toEqual([1, expect.stringMatching(/work\.xlf:\d+: blocked: tu1_/)]);
    expect(targetsOf(await translations())).toEqual([null, null, null]);
    const stored = await ann('import', path);
    expect([stored.code, stored.out]).toEqual([0, expect.stringContaining('1 stored_blocked')]);
    expect(await system.task(destination)).toMatchObject({
      status: 'blocked',
      unit_counts: { blocked: 1, draft: 2 },
    });
    const noted = pathOf('blocked.jsonl');
    await ann('export', noted, '--task', taskId, '--state', 'blocked');
    expect(await readFile(noted, 'utf8')).toContain('"note":"Blocked: too_many_characters: ');
  });

  it('takes an import back by its run, and what a translator stored by token and time', async () => {
    const { ann, ben, pathOf, destination, taskId, translations } = await open('undo');
    const path = pathOf('work.xlf');
    await ann('export', path, '--task', taskId);
    await fillXliff(path, [TARGETS[0]!]);
    await ann('import', path);
    await ben('export', path, '--task', taskId, '--force');
    await fillXliff(path, ['错{0}', '<b>错</b>', '错\n=1+1']);
    const wrong = await ben('import', path);
    const run = /run (file:[0-9a-f]{32})/.exec(wrong.out)?.[1] ?? '';
    expect(targetsOf(await translations())).toEqual(['错{0}', '<b>错</b>', '错\n=1+1']);
    const undone = await ann('undo', '--yes', '--run', run);
    expect([undone.code, undone.err, undone.out]).toEqual([
      0,
      '',
      expect.stringContaining('1 restored, 2 taken_back'),
    ]);
    expect((await translations()).map(({ target_text: text, state }) => [text, state])).toEqual([
      [TARGETS[0], 'draft'],
      [null, 'untranslated'],
      [null, 'untranslated'],
    ]);
    const all = await ann('undo', '--yes', '--author', 'ann', '--since', '0', '--destination', destination);
    expect([all.code, targetsOf(await translations())]).toEqual([0, [null, null, null]]);
  });

  it('brings texts back that repeat each other in several tasks, and takes them back', async () => {
    const { ann, pathOf, units } = await openRepeated();
    const path = pathOf('work.xlf');
    await ann('export', path, '--destination', 'repeated-*');
    await fillXliff(path, ['是1', '否1', '否2', '是2']);
    const imported = await ann('import', path, '--status', 'translated');
    expect([imported.code, imported.err]).toEqual([0, '']);
    expect(await units()).toEqual(['是1', '否1', '否2', '是2']);
    const run = /run (file:[0-9a-f]{32})/.exec(imported.out)?.[1] ?? '';
    const undone = await ann('undo', '--yes', '--run', run);
    expect([undone.code, undone.err]).toEqual([0, '']);
    expect(await units()).toEqual([null, null, null, null]);
  });

  it('needs the right to translate', async () => {
    const { ann, pathOf, taskId } = await open('twice');
    const path = pathOf('work.csv');
    await ann('export', path, '--task', taskId);
    expect(await ann('export', path, '--task', taskId)).toMatchObject({ code: 2 });
    const none = await ctl(['--url', started().system.serverUrl, 'translations', 'import', path]);
    expect([none.code, none.err]).toEqual([4, expect.stringContaining('needs an admin token')]);
  });
});

describe('a file of an earlier release', () => {
  it('goes to the next release where the text is equal, and is refused with the line where it changed', async () => {
    const { ann, pathOf, destination, taskId, translations, ...system } = await open('next');
    const path = pathOf('work.xlf');
    await ann('export', path, '--task', taskId);
    await fillXliff(path, TARGETS);
    const [first, second] = textsOf('next');
    await system.publish('r2', { ...FILES, [destination]: [first!, `${second}！`, '新'] });
    const refused = await ann('import', path);
    expect([refused.code, refused.out]).toEqual([
      1,
      expect.stringMatching(/work\.xlf:\d+: source_changed: tu1_\w+: the source in the file/),
    ]);
    expect(targetsOf(await translations())).toEqual([null, null, null]);
    const partial = await ann('import', path, '--partial');
    expect([partial.code, partial.out]).toEqual([
      1,
      expect.stringContaining('1 stored: its target is stored'),
    ]);
    expect(targetsOf(await translations())).toEqual([TARGETS[0], null, null]);
    expect((await ann('export', pathOf('old.csv'), '--task', taskId)).err).toContain(
      'is of the earlier release r1',
    );
  });
});
