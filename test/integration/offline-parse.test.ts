import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, symlink, writeFile, truncate } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { DialogRow } from '../../demo/game/dialog-row.ts';
import { flatBuffersTable, flatBuffersTableSchema } from '../../demo/game/flatbuffers-table.ts';
import { writeSqliteTable } from '../../demo/game/sqlite-table.ts';
import { stringTable } from '../../demo/game/unity/string-table.ts';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { createStringCodec } from '../../src/formats/codecs/string-codec.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { LARGE_PATH_ID } from '../support/unity-samples.ts';
import { encryptedZip } from '../support/zip-crypto.ts';
import { zipOf } from '../support/zip-of.ts';

const PROGRAM = resolve(import.meta.dirname, '../../cmd/slipway.ts');
const PASSWORD = 'canary-zip-19bd';
const KEY = 'canary-xor-5c01';
/** 日本語 in CP932. */
const CP932 = Buffer.of(0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea);
const CODEC = createStringCodec('base64+xor:table-key+utf16le', new Map([['table-key', Buffer.from(KEY)]]));

type Line = Readonly<Record<string, unknown>> & { readonly type: string };

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(...argv: readonly string[]): ChildProcess {
  return spawn(process.execPath, [PROGRAM, 'parse', ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function run(...argv: readonly string[]): Promise<Ended> {
  const child = start(...argv);
  const [out, err, [code]] = await Promise.all([
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

const collected = async (stream: Readable | null): Promise<string> =>
  stream === null ? '' : await text(stream);

const linesOf = ({ out }: Ended): Line[] =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

async function write(root: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
}

const rows = (encode = (line: string): string => line): DialogRow[] => [
  { id: 2n ** 60n, speaker: encode('アロナ'), text: encode('先生、おはよう。') },
];

/** A release with a container of every format, and the rules for it. */
async function release(): Promise<{ readonly root: string; readonly rules: string }> {
  const folder = await temporaryDirectory();
  const root = join(folder, 'release');
  const objects = [stringTable('Table_ja', 'ja', LARGE_PATH_ID, [{ id: 5n, text: 'こんにちは' }])];
  await write(root, {
    'Bundles/table_0f3cab12e9d84c7b.bundle': writeBundle([
      { name: 'CAB-1', bytes: writeSerializedFile({ version: 22, objects }) },
    ]),
    'Tables/open.zip': await zipOf({ 'a/one.json': '[{"Id":1,"Text":"一"}]' }),
    'Tables/locked.zip': encryptedZip({ 'two.json': '[{"Id":2,"Text":"二"}]' }, PASSWORD),
    'Tables/plain.bin': flatBuffersTable(rows()),
    'Tables/coded.bin': flatBuffersTable(rows((line) => CODEC.encode(line).toString('latin1'))),
    'Text/dialog.csv': 'Id,Speaker,Text\n7,ホシノ,"うへ〜、\n眠い"\n',
    'Text/dialog.tsv': 'Id\tText\n8\tはい\n',
    'Text/old.txt': Buffer.concat([Buffer.from('x\n'), CP932]),
    'Text/scene.json': '{"Scene":"s1","Lines":[{"Key":"k","Text":"終わり","Debug":"消す"}]}',
    'picture.png': Buffer.from('\u0089PNG\r\n\u001A\n', 'latin1'),
  });
  await writeSqliteTable(join(root, 'Tables/dialog.db'), rows());
  await write(folder, {
    'schema.bfbs': flatBuffersTableSchema(),
    'zip-password': `${PASSWORD}\n`,
    'table-key': KEY,
    'rules.yaml': `
parse:
  processes: 2
  secrets: { zip-password: ${folder}/zip-password, table-key: ${folder}/table-key }
  rules:
    - { destination: ['Tables/locked.zip'], password: zip-password }
    - { destination: ['Tables/plain.bin'], format: flatbuffers, schema: ${folder}/schema.bfbs }
    - destination: ['Tables/coded.bin']
      format: flatbuffers
      schema: ${folder}/schema.bfbs
      codec: base64+xor:table-key+utf16le
    - { destination: ['Text/old.txt'], encoding: cp932 }
    - { destination: ['Text/scene.json'], exclude: ['**/Debug'] }
`,
  });
  return { root, rules: join(folder, 'rules.yaml') };
}

describe('slipway parse', () => {
  it('finds the text of every format, in the order of destinations', async () => {
    const { root, rules } = await release();
    const ended = await run(root, '--rules', rules, '--json');
    expect(ended).toMatchObject({ code: 0, err: '' });
    const lines = linesOf(ended);
    const units = lines.filter(({ type }) => type === 'unit');
    expect(
      units.map(({ destination, archive_entry, path_id, field_path, format, speaker, source_text }) => [
        destination,
        [archive_entry, path_id, field_path]
          .flatMap((each) => (typeof each === 'string' ? each : []))
          .join(' '),
        format,
        speaker,
        source_text,
      ]),
    ).toEqual([
      [
        'Bundles/table_0f3cab12e9d84c7b.bundle',
        `${LARGE_PATH_ID} m_TableData[0].m_Localized`,
        'unity.monobehaviour',
        null,
        'こんにちは',
      ],
      ['Tables/coded.bin', 'rows[0].speaker', 'flatbuffers', 'アロナ', 'アロナ'],
      ['Tables/coded.bin', 'rows[0].text', 'flatbuffers', 'アロナ', '先生、おはよう。'],
      ['Tables/dialog.db', `Dialog[${2n ** 60n}].Speaker`, 'sqlite', 'アロナ', 'アロナ'],
      ['Tables/dialog.db', `Dialog[${2n ** 60n}].TextJp`, 'sqlite', 'アロナ', '先生、おはよう。'],
      ['Tables/locked.zip', 'two.json /0/Text', 'json', null, '二'],
      ['Tables/open.zip', 'a/one.json /0/Text', 'json', null, '一'],
      ['Tables/plain.bin', 'rows[0].speaker', 'flatbuffers', 'アロナ', 'アロナ'],
      ['Tables/plain.bin', 'rows[0].text', 'flatbuffers', 'アロナ', '先生、おはよう。'],
      ['Text/dialog.csv', 'row[0].Speaker', 'csv', 'ホシノ', 'ホシノ'],
      ['Text/dialog.csv', 'row[0].Text', 'csv', 'ホシノ', 'うへ〜、\n眠い'],
      ['Text/dialog.tsv', 'row[0].Text', 'tsv', null, 'はい'],
      ['Text/old.txt', 'line[1]', 'text', null, '日本語'],
      ['Text/scene.json', '/Lines/0/Text', 'json', null, '終わり'],
    ]);
    expect(units[0]?.['unit_id']).toMatch(/^tu1_[a-z2-7]{26}$/);
    const containers = lines.filter(({ type }) => type === 'container');
    expect(containers.at(-1)).toMatchObject({
      destination: 'picture.png',
      parse_status: 'unsupported',
      skipped: { binary: 1 },
    });
    expect(containers.at(-2)).toMatchObject({
      parse_status: 'parsed',
      units: 1,
      skipped: { field_not_selected: 1 },
    });
    expect(lines.at(-1)).toMatchObject({
      type: 'summary',
      containers: 11,
      by_parse_status: { parsed: 10, partial: 0, unsupported: 1, failed: 0 },
      units: 14,
      errors: 0,
    });
  });

  it('says what it could not read, where, and what to do', async () => {
    const { root } = await release();
    await symlink('/etc/hostname', join(root, 'link.txt'));
    const ended = await run(root, '--json');
    expect(ended.code).toBe(1);
    const errors = linesOf(ended).filter(({ type }) => type === 'error');
    expect(
      errors.map(({ destination, archive_entry, code, severity }) => [
        destination,
        archive_entry,
        code,
        severity,
      ]),
    ).toEqual([
      ['Tables/locked.zip', 'two.json', 'zip_encrypted', 'error'],
      ['Text/old.txt', null, 'encoding_invalid', 'error'],
      ['link.txt', null, 'file_unreadable', 'error'],
    ]);
    const { out } = await run(join(root, 'Tables/locked.zip'));
    expect(out).toContain('error zip_encrypted in entry two.json: ');
    expect(out).toContain(
      'The archive entry is encrypted, and the rule of the archive names no password for it. Put the password into a file',
    );
    expect(out).toMatch(/\n1 container \(1 partial\), 0 units, 1 error, \d+\.\d s\n$/);
  });

  it('does not crash with a container that ends its process', async () => {
    const folder = await temporaryDirectory();
    await write(folder, {
      'r/b.json': '["い"]',
      'rules.json': JSON.stringify({
        parse: { memoryMebibytes: 256, rules: [{ destination: ['a.txt'], format: 'text' }] },
      }),
    });
    // Half a gigabyte of zeros, which takes no space on the disk.
    await writeFile(join(folder, 'r/a.txt'), '');
    await truncate(join(folder, 'r/a.txt'), 500_000_000);
    const ended = await run(
      join(folder, 'r'),
      '--rules',
      join(folder, 'rules.json'),
      '--json',
      '--limit',
      '0',
    );
    expect(ended.code).toBe(1);
    const lines = linesOf(ended);
    expect(lines.find(({ type }) => type === 'error')?.['code']).toMatch(
      /^(?:memory_exceeded|process_failed)$/,
    );
    expect(lines.filter(({ type }) => type === 'container').map(({ parse_status }) => parse_status)).toEqual([
      'failed',
      'parsed',
    ]);
  });

  it('shows a table for people, with as many units as are asked for', async () => {
    const { root, rules } = await release();
    const { code, out } = await run(join(root, 'Text/dialog.csv'), '--rules', rules, '--limit', '1');
    expect(code).toBe(0);
    expect(out.replace(/\d+\.\d s/, 'N s').split('\n')).toEqual([
      'dialog.csv',
      '  FIELD           FORMAT  SPEAKER  TEXT',
      '  row[0].Speaker  csv     ホシノ   ホシノ',
      '  parsed, format csv, 2 units; skipped: 1 no_source_script',
      '',
      'skipped no_source_script (1): The string has no character of the source script (`parse.sourceScript`). It is "japanese"; for a game in another language, set it in a file of rules (--rules); --suggest finds it.',
      '1 container (1 parsed), 2 units (1 not shown), 0 errors, N s',
      '',
    ]);
  });

  it('applies the rules to a single file under its destination', async () => {
    const { root, rules } = await release();
    const path = join(root, 'Tables/locked.zip');
    const unitOf = async (...argv: string[]): Promise<unknown> =>
      linesOf(await run(...argv, '--rules', rules, '--json')).find(({ type }) => type === 'unit')?.[
        'unit_id'
      ];
    expect(await unitOf(path)).toBeUndefined();
    const found = await unitOf(path, '--as', 'Tables/locked.zip');
    expect(found).toBeDefined();
    const ofFolder = linesOf(await run(root, '--rules', rules, '--json'));
    expect(ofFolder.find(({ source_text }) => source_text === '二')?.['unit_id']).toBe(found);
  });

  it('names every problem of the rules, with line or key', async () => {
    const folder = await temporaryDirectory();
    await write(folder, {
      'keys.yaml': `
parse:
  proceses: 2
  rules:
    - { destination: ['/a'], format: exe }
    - { destination: ['b'], fromat: zip, password: nobody }
    - { format: json, colour: red }
`,
      'syntax.yaml': 'parse:\n  rules: [\n',
      'files.yaml': `
parse:
  secrets: { one: ${folder}/absent-1 }
  rules: [{ destination: ['a'], format: flatbuffers, schema: ${folder}/absent-2 }]
`,
    });
    const problemsOf = async (name: string): Promise<string[]> => {
      const { code, out, err } = await run(folder, '--rules', join(folder, name));
      expect([code, out]).toEqual([2, '']);
      return err
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(`slipway parse: config file ${join(folder, name)}: `, ''));
    };
    expect(await problemsOf('keys.yaml')).toEqual([
      expect.stringMatching(/^parse\.rules\.0\.destination\.0: must not begin with "\/"/),
      expect.stringMatching(/^parse\.rules\.0\.format: invalid option: expected one of "auto"/),
      'parse.rules.1.fromat: unknown key; did you mean "format"?',
      expect.stringMatching(/^parse\.rules\.2\.destination: is required\./),
      expect.stringMatching(/^parse\.rules\.2\.colour: unknown key; known: destination, entry, format, /),
      'parse.proceses: unknown key; did you mean "processes"?',
      expect.stringMatching(
        /^parse\.rules\.1\.password: names the secret "nobody", which parse\.secrets does not/,
      ),
    ]);
    expect(await problemsOf('syntax.yaml')).toEqual([expect.stringMatching(/^line 3, column 1: /)]);
    expect(await problemsOf('files.yaml')).toEqual([
      expect.stringMatching(/^parse\.secrets\.one: .*absent-1 cannot be read: ENOENT/),
      expect.stringMatching(/^parse\.rules\[0\]\.schema: .*absent-2 cannot be read: ENOENT/),
    ]);
  });

  it('takes the rules of a whole daemon.yaml, with its line numbers', async () => {
    const folder = await temporaryDirectory();
    await write(folder, {
      'a.json': '[{"Text":"한국"}]',
      'daemon.yaml': `listen: { host: 127.0.0.1, port: 1 }\nparse:\n  sourceScript: korean\n# last\nupstream:\n  kind: none\n`,
      'wrong.yaml': 'upstream:\n  kind: none\nparse:\n  rules: [\n',
    });
    const { code, out } = await run(join(folder, 'a.json'), '--rules', join(folder, 'daemon.yaml'));
    expect([code, out]).toEqual([0, expect.stringContaining('한국')]);
    expect((await run(folder, '--rules', join(folder, 'wrong.yaml'))).err).toContain('line 5, column 1: ');
  });

  it('refuses pipes and devices, and shows files whose names are not UTF-8', async () => {
    const folder = await temporaryDirectory();
    const pipe = join(folder, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/null']) {
      expect(await run(path)).toEqual({
        code: 2,
        out: '',
        err: `slipway parse: ${path} is neither a file nor a folder; give one of them\n`,
      });
    }
    await writeFile(Buffer.concat([Buffer.from(`${folder}/`), CP932, Buffer.from('.txt')]), 'あ');
    const ended = await run(folder, '--json');
    expect(ended.err).toBe('');
    expect(linesOf(ended).filter(({ type }) => type === 'error')).toMatchObject([
      { destination: 'pipe', code: 'file_unreadable', message: expect.stringContaining('named pipe') },
      { destination: expect.stringContaining('.txt'), code: 'file_unreadable' },
    ]);
    expect(ended.code).toBe(1);
  });

  it('ends quietly when its reader closes the output, and with a message when the output is full', async () => {
    const folder = await temporaryDirectory();
    const line = JSON.stringify({ Text: 'あ'.repeat(1000) });
    await write(folder, { 'a.json': `[${`${line},`.repeat(2000)}${line}]` });
    const child = start(folder, '--json');
    if (child.stdout === null || child.stderr === null) throw new Error('started without a pipe');
    const [err, ended] = [text(child.stderr), once(child, 'exit')];
    await once(child.stdout, 'readable');
    child.stdout.destroy();
    expect([await ended, await err]).toEqual([[0, null], '']);

    const full = await open('/dev/full', 'w');
    const failing = spawn(process.execPath, [PROGRAM, 'parse', folder], {
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const [message, end] = [collected(failing.stderr), once(failing, 'exit')];
    expect([await end, await message]).toEqual([
      [1, null],
      expect.stringMatching(/^slipway parse: the output cannot be written: ENOSPC[^\n]*\n$/),
    ]);
    await full.close();
  });

  it('ends with Ctrl-C while its reader is slow, and leaves no process behind', async () => {
    const folder = await temporaryDirectory();
    const line = JSON.stringify({ Text: 'あ'.repeat(1000) });
    await write(folder, { 'a.json': `[${`${line},`.repeat(5000)}${line}]` });
    const child = start(folder, '--json');
    const ended = once(child, 'exit') as Promise<[number | null]>;
    if (child.stdout === null) throw new Error('started without a pipe');
    // Nothing is read, so the pipe is full from now on.
    await once(child.stdout, 'readable');
    const children = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1'))
      .trim()
      .split(' ');
    expect(children).toHaveLength(1);
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    child.stdout.resume();
    await until(() => children.every((pid) => !existsSync(`/proc/${pid}`)));
  });
});
