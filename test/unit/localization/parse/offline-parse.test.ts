import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { list, object, text as textType } from '../../../../demo/game/unity/unity-type.ts';
import { writeBundle } from '../../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile, type UnityObject } from '../../../../demo/game/unity/write-serialized-file.ts';
import { destinationKeys } from '../../../../src/localization/parse/container/destination-keys.ts';
import type { ParsedUnit } from '../../../../src/localization/parse/container/parsed-container.ts';
import { nextText } from '../../../../src/localization/parse/offline/game-overview.ts';
import { parseFiles, runParse } from '../../../../src/localization/parse/offline/run-parse.ts';
import { listReleaseFiles } from '../../../../src/localization/parse/offline/release-files.ts';
import type { ContainerParser } from '../../../../src/localization/parse/process/container-parser.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { sampleBehaviour, sampleTextAsset } from '../../../support/unity-samples.ts';

const NEVER = new AbortController().signal;

async function parse(argv: readonly string[], signal = new AbortController().signal, clock = systemClock) {
  let [out, err] = ['', ''];
  const code = await runParse(argv, {
    stdout: {
      write: (text, done) => {
        out += text;
        done?.();
      },
    },
    stderr: { write: (text) => void (err += text) },
    clock,
    signal,
  });
  return { code, out, err };
}

describe('slipway parse offline', () => {
  describe('the command line of slipway parse', () => {
    it.each([
      [[], 'name exactly one file or folder'],
      [['a', 'b'], 'name exactly one file or folder'],
      [['a', '--limit=-1'], '--limit: must be a whole number from 0 to 999999999 (got "-1")'],
      [['a', '--limit=1.5'], '--limit: must be a whole number from 0 to 999999999 (got "1.5")'],
      [
        ['a', '--rule', 'x'],
        'there is no option --rule; did you mean "--rules"?\nFor help: slipway parse --help\n',
      ],
      [['a', '--suggest', 'b', '--limit', '1'], '--suggest: cannot be used with --rules, --as or --limit'],
      [['/nonexistent/file'], '/nonexistent/file cannot be read: ENOENT'],
      [['a', '--rules', '/nonexistent/rules'], 'config file /nonexistent/rules: cannot be read: ENOENT'],
    ])('%j is refused', async (argv, problem) => {
      const { code, out, err } = await parse(argv);
      expect([code, out]).toEqual([2, '']);
      expect(err.startsWith(`slipway parse: ${problem}`)).toBe(true);
    });

    it('shows its help', async () => {
      const { code, out } = await parse(['--help']);
      expect(code).toBe(0);
      expect(out).toContain('Usage: slipway parse FILE|DIR');
    });
  });

  describe('slipway parse', () => {
    it('shortens long texts, and shows what a terminal would act upon as escapes', async () => {
      const path = join(await temporaryDirectory(), 'a.json');
      await writeFile(path, JSON.stringify({ long: '𠮟'.repeat(100), evil: 'あ\u001B[2J' }));
      const { code, out } = await parse([path]);
      expect(code).toBe(0);
      expect(out).toContain(`  ${'𠮟'.repeat(39)}…\n`);
      expect(out).toContain(String.raw`あ\x1b[2J`);
    });

    it('prints the key path of a text as a list for programs', async () => {
      const path = join(await temporaryDirectory(), 'a.json');
      await writeFile(path, JSON.stringify([{ Id: 7, Text: 'あ' }]));
      const { out } = await parse([path, '--json']);
      expect(JSON.parse(out.split('\n')[0] ?? '')).toMatchObject({
        field_path: '/0/Text',
        key_path: ['', '', '/Id=7/Text'],
      });
    });

    it('names the script that a skipped string has no character of, and where it is set', async () => {
      const path = join(await temporaryDirectory(), 'a.json');
      await writeFile(path, JSON.stringify({ a: '시작', b: 'あ' }));
      expect((await parse([path])).out).toMatch(
        /^skipped no_source_script \(1\): .*`parse\.sourceScript`.* It is "japanese"; for a game in another language, .*--suggest/m,
      );
    });

    it('reports an empty folder', async () => {
      const { code, out } = await parse([await temporaryDirectory()]);
      expect(code).toBe(0);
      expect(out).toMatch(/^\n0 containers, 0 units, 0 errors, /);
    });

    it('ends when it is interrupted', async () => {
      const { code, err } = await parse([await temporaryDirectory()], AbortSignal.abort(new Error('SIGINT')));
      expect([code, err]).toEqual([130, 'slipway parse: interrupted\n']);
    });
  });
});

/** A folder of a game with texts in Japanese, notes of developers, other languages, and files that are not read. */
async function game(): Promise<string> {
  const folder = await temporaryDirectory();
  const rows = Array.from({ length: 9 }, (_, row) => `${row},img/face_${row}.png,${row}つ目の台詞です。`);
  const files = {
    'data/scenario/first.ks': '#アロナ\nおはようございます、先生。[p]\n@jump target=*a\n',
    'data/tables/talk.csv': `Id,File,Text\n${rows.join('\n')}\n`,
    'data/old/note.txt': Buffer.from('82b182f182c982bf82cd81410a90e690b681420a', 'hex'),
    'js/code.js': '// 注釈\n',
    'lang/menu_ja.properties': 'a=開始\n',
    'lang/menu_en.properties': 'a=Start\n',
    'lang/menu_ko.properties': 'a=시작\n',
    'notes.yaml': 'a: あ\n',
    'picture.resS': Buffer.of(0x42, 0x89, 0xe3, 0x0d, 2),
  };
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

describe('the folder of a game', () => {
  it('is summed up: engine, texts by format and folder, what is not read, errors, and the next step', async () => {
    const folder = await game();
    const { out } = await parse([folder, '--limit', '0']);
    const summary = out.slice(out.indexOf('engine: '));
    expect(summary.replaceAll(/ +/g, ' ').split('\n')).toEqual(
      expect.arrayContaining([
        'engine: TyranoScript (data/scenario/first.ks)',
        'csv 9 data/tables/talk.csv',
        'tyrano 2 data/scenario/first.ks',
        'data/tables 1 9',
        'yaml (YAML) 1 notes.yaml',
        'for files that are not read: convert texts to a format that is read, such as CSV, or give files of text lines a rule with',
        'encoding_invalid 1 data/old/note.txt',
        `next: slipway parse ${folder} --suggest rules.yaml writes rules to start from`,
      ]),
    );
    const lines = (await parse([folder, '--json'])).out.trimEnd().split('\n');
    expect(JSON.parse(lines.at(-2) ?? '')).toMatchObject({
      type: 'overview',
      engines: ['TyranoScript'],
      texts_by_format: { csv: 9, tyrano: 2 },
      files_not_read: { yaml: 1 },
    });
  });

  it('gives rules to start from, which find its texts and nothing else', async () => {
    const folder = await game();
    const rules = join(await temporaryDirectory(), 'rules.yaml');
    const { code, out } = await parse([folder, '--suggest', rules]);
    expect(code).toBe(1);
    // Every string was read, and not only texts.
    expect(out).toMatch(/^FORMAT +STRINGS +FIRST FILE$/m);
    expect(out).toContain(
      `4 rules written to ${rules}; read them, then: slipway parse ${folder} --rules ${rules}\n`,
    );
    expect(parseDocument(await readFile(rules, 'utf8')).toJS()).toEqual({
      parse: {
        sourceScript: 'japanese',
        rules: [
          { destination: ['lang/*_en.properties', 'lang/*_ko.properties'], format: 'skip' },
          { destination: ['data/old/note.txt'], encoding: 'cp932' },
          { destination: ['data/tables/*.csv'], include: ['row[*].Text'] },
          { destination: ['**/*.js'], format: 'skip' },
        ],
      },
    });
    expect(await readFile(rules, 'utf8')).toContain(
      '# row[*].Text (9): 0つ目の台詞です。 | 1つ目の台詞です。',
    );
    const units = (await parse([folder, '--rules', rules, '--json'])).out
      .split('\n')
      .filter((line) => line.includes('"unit"'))
      .map((line) => (JSON.parse(line) as { destination: string }).destination);
    expect(new Set(units)).toEqual(
      new Set([
        'data/old/note.txt',
        'data/scenario/first.ks',
        'data/tables/talk.csv',
        'lang/menu_ja.properties',
      ]),
    );
    expect(units).toHaveLength(14);
    const again = await parse([folder, '--suggest', rules]);
    expect([again.code, again.err]).toEqual([
      2,
      `slipway parse: --suggest: ${rules} exists; name a new file, or remove it\n`,
    ]);
  });
});

it('leads from rules to a system that uses them', () => {
  expect(nextText('game', 'rules.yaml')).toBe(
    'make run UPSTREAM=game RULES=rules.yaml serves the folder and indexes these texts',
  );
});

function bundleOf(object: UnityObject): Buffer {
  return writeBundle([{ name: 'CAB-1', bytes: writeSerializedFile({ version: 22, objects: [object] }) }]);
}

describe('suggested rules', () => {
  const suggest = async (files: Readonly<Record<string, string | Buffer>>): Promise<string> => {
    const folder = await temporaryDirectory();
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), content);
    }
    const rules = join(await temporaryDirectory(), 'rules.yaml');
    await parse([folder, '--suggest', rules]);
    return await readFile(rules, 'utf8');
  };

  it('name fields in comments of one line, whatever is in their names', async () => {
    const name = 'Text\n- destination: ["**"]\u2028';
    const text = await suggest({ 'a.json': JSON.stringify([{ Id: 'x', [name]: 'おはよう。' }]) });
    expect((parseDocument(text).toJS() as { parse: { rules: unknown[] } }).parse.rules).toHaveLength(1);
  });

  it('name the fields of files in another encoding too, and files as globs', async () => {
    const table = (text: string): string => `Id,File,Text\n${`1,img/face_1.png,${text}\n`.repeat(5)}`;
    const old = Buffer.from(table('x').replaceAll('x', '\u0082\u00A0\u0082\u00A2'), 'latin1');
    const text = await suggest({ 'new.csv': table('おはよう。'), 'old [(1)].csv': old });
    const include = ['row[*].Text'];
    expect(parseDocument(text).toJS()).toEqual({
      parse: {
        sourceScript: 'japanese',
        rules: [
          { destination: [String.raw`old \[\(1\)\].csv`], include, encoding: 'cp932' },
          { destination: ['*.csv'], include },
        ],
      },
    });
  });

  const parseOf = (text: string): unknown => (parseDocument(text).toJS() as { parse: unknown }).parse;

  it('leave translations out: bundles, folders and columns of other languages', async () => {
    const bundle = (text: string): Buffer => bundleOf(sampleTextAsset(1n, 'talk', `a,b\n1,${text}\n`));
    const script = (text: string): string => `label start:\n    e "${text}"\n`;
    expect(
      parseOf(
        await suggest({
          'aa/tables-english(en)_all.bundle': bundle('Good morning to you.'),
          'aa/tables-portuguese(brazil)(pt-br)_all.bundle': bundle('Bom dia para todos.'),
          'game/a.rpy': script('Good morning to you.'),
          'game/tl/bahasa/a.rpy': script('Selamat pagi, semua orang.'),
          'text.csv': 'id,en,es\na,Good morning to you.,Buenos dias a todos.\n',
        }),
      ),
    ).toEqual({
      sourceScript: 'latin',
      rules: [
        {
          destination: [String.raw`aa/*-portuguese\(brazil\)\(pt-br\)_all.bundle`, 'game/tl/bahasa/*.rpy'],
          format: 'skip',
        },
        { destination: [String.raw`aa/*-english\(en\)_all.bundle`], include: ['m_Script#row[*].b'] },
        { destination: ['*.csv'], include: ['row[*].en'] },
      ],
    });
  });

  it('keep files of all languages where none is known to be that of the game', async () => {
    const files = Object.fromEntries(
      ['de', 'es', 'fr'].map((code) => [`a_${code}.txt`, 'Bonjour a tous.\n']),
    );
    expect(parseOf(await suggest(files))).toEqual({ sourceScript: 'latin', rules: [] });
  });

  it('take the language of a game from formats that have its texts, and not from notes', async () => {
    const system = JSON.stringify({ airship: {}, gameTitle: 'Selamat pagi', terms: { basic: ['Level'] } });
    expect(
      parseOf(await suggest({ 'data/System.json': system, 'img/notes.txt': 'あ\nい\nう\nえ\n' })),
    ).toEqual({
      sourceScript: 'latin',
      rules: [{ destination: ['**/*.txt'], format: 'skip' }],
    });
  });

  it('skip no other file of a folder than the one without an extension, and no file of a game for its folder', async () => {
    const text = await suggest({
      'game/LICENSE': 'You may copy this program.\n',
      'game/a.rpy': 'label start:\n    "Good morning to you."\n',
      'game/site-packages/x.json': '[{"text":"Development status is stable."}]',
      'game/Mono/browscap.ini': Buffer.from('product=Good morning\u00AE\n', 'latin1'),
      'game/icon.svg': '<svg><title>Good morning to you.</title></svg>',
    });
    expect(parseOf(text)).toEqual({
      sourceScript: 'latin',
      rules: [{ destination: ['**/*.svg', 'game/LICENSE', '**/*.json'], format: 'skip' }],
    });
  });

  it('name fields with stars and brackets in globs that match them', async () => {
    const rows = [{ 'a**b': 'Good morning to you.', 'c[d': 'Good evening to all.', img: 'a.png' }];
    const text = await suggest({ 'a.json': JSON.stringify(rows) });
    expect(parseOf(text)).toMatchObject({ rules: [{ include: ['/*/a*b', '/*/c[d'] }] });
  });

  it('tell the languages in a table of I2 Localization apart', async () => {
    const table = sampleBehaviour(
      1n,
      'I2Languages',
      [
        list('mTerms', object('TermData', 'data', [textType('Term'), list('Languages', textType('data'))])),
        list('mLanguages', object('LanguageData', 'data', [textType('Name')])),
      ],
      {
        mTerms: [
          { Term: 'a', Languages: ['Good morning to you.', 'Guten Morgen euch allen.'] },
          { Term: 'b', Languages: ['Good evening to you.', 'Guten Abend euch allen.'] },
        ],
        mLanguages: [{ Name: 'English' }, { Name: 'German' }],
      },
    );
    const suggested = await suggest({ 'i2.bundle': bundleOf(table) });
    expect(suggested).toContain(
      '# mTerms[*].Languages[1] (2): Guten Morgen euch allen. | Guten Abend euch allen.',
    );
  });

  it('are refused before the parse where their file cannot be written, and an interrupted parse leaves none', async () => {
    const folder = await temporaryDirectory();
    await writeFile(join(folder, 'a.txt'), 'あ');
    const missing = join(folder, 'missing', 'r.yaml');
    const { code, out, err } = await parse([folder, '--suggest', missing]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(`slipway parse: --suggest: ${missing} cannot be written: ENOENT`);
    const rules = join(await temporaryDirectory(), 'rules.yaml');
    const interrupt = new AbortController();
    // The time is taken when the file of rules is there.
    const clock = {
      ...systemClock,
      monotonic: () => {
        interrupt.abort(new Error('SIGINT'));
        return 0;
      },
    };
    expect((await parse([folder, '--suggest', rules], interrupt.signal, clock)).code).toBe(130);
    await expect(readFile(rules)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

const OUTCOME = { status: 'parsed', format: 'json', issues: [], skipped: {}, seconds: 0 } as const;
const unit = (sourceText: string): ParsedUnit => ({ sourceText }) as ParsedUnit;
const filesOf = (...names: string[]) => names.map((name) => ({ path: name, destination: name }));

describe('parsing files', () => {
  it('hands over containers in their order, also when a later one is ready first', async () => {
    const seen: string[] = [];
    const second = Promise.withResolvers<void>();
    const worker: ContainerParser = {
      parse: async ({ destination }, onUnits) => {
        if (destination === 'b') second.resolve();
        // The first container has its units after the second one has offered its own.
        if (destination === 'a') await second.promise;
        await onUnits([unit(`${destination}1`)]);
        await onUnits([unit(`${destination}2`)]);
        return OUTCOME;
      },
      close: () => undefined,
    };
    const files = filesOf('a', 'b', 'c');
    const keys = destinationKeys(() => ['a', 'b', 'c'], []);
    await parseFiles(
      { files, keys, parser: worker, processes: 2 },
      {
        units: async (_destination, units) => void seen.push(...units.map(({ sourceText }) => sourceText)),
        outcome: async (destination) => void seen.push(`end of ${destination}`),
      },
      NEVER,
    );
    expect(seen).toEqual(['a1', 'a2', 'end of a', 'b1', 'b2', 'end of b', 'c1', 'c2', 'end of c']);
  });

  it('ends with the error of the output, without waiting for the containers behind it', async () => {
    const worker: ContainerParser = {
      parse: async (_job, onUnits, signal) => {
        await onUnits([unit('x')]);
        signal.throwIfAborted();
        return OUTCOME;
      },
      close: () => undefined,
    };
    const sink = {
      units: async (destination: string): Promise<void> => {
        throw new Error(`disk full at ${destination}`);
      },
      outcome: async (): Promise<void> => undefined,
    };
    const keys = destinationKeys(() => ['a', 'b'], []);
    const run = parseFiles({ files: filesOf('a', 'b'), keys, parser: worker, processes: 2 }, sink, NEVER);
    await expect(run).rejects.toThrow('disk full at a');
  });

  it('names containers without their hashes, and says which ones share a name', async () => {
    const names = ['x_0f3cab12e9d84c7b.b', 'y_0f3cab12e9d84c7b.b', 'y_1f3cab12e9d84c7b.b'];
    const given: string[] = [];
    const codes: string[][] = [];
    const worker: ContainerParser = {
      parse: async ({ destinationKey }) => {
        given.push(destinationKey);
        return OUTCOME;
      },
      close: () => undefined,
    };
    await parseFiles(
      {
        files: filesOf(...names),
        keys: destinationKeys(() => names, []),
        parser: worker,
        processes: 1,
      },
      {
        units: async () => undefined,
        outcome: async (_destination, { issues }) => void codes.push(issues.map(({ code }) => code)),
      },
      NEVER,
    );
    expect(given).toEqual(['x_*.b', names[1], names[2]]);
    expect(codes).toEqual([[], ['duplicate_unit_key'], ['duplicate_unit_key']]);
  });
});

describe('the files to parse', () => {
  it('are those of a folder in the order of destinations, without following links', async () => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'b/empty'), { recursive: true });
    const decomposed = 'か\u3099.txt';
    for (const name of ['b/1.json', 'a.json', 'b.json', decomposed]) await writeFile(join(root, name), '');
    await symlink(root, join(root, 'loop'));
    const found = await listReleaseFiles(root, null, NEVER);
    expect(found.ok && found.value).toEqual([
      { path: join(root, 'a.json'), destination: 'a.json' },
      { path: join(root, 'b.json'), destination: 'b.json' },
      { path: join(root, 'b/1.json'), destination: 'b/1.json' },
      { path: join(root, 'loop'), destination: 'loop' },
      { path: join(root, decomposed), destination: 'が.txt' },
    ]);
  });

  it('are one file, also behind a link, under the destination that is given', async () => {
    const root = await temporaryDirectory();
    await writeFile(join(root, 'real.json'), '');
    await symlink('real.json', join(root, 'link.json'));
    const path = join(root, 'real.json');
    const named = await listReleaseFiles(join(root, 'link.json'), null, NEVER);
    expect(named).toEqual({ ok: true, value: [{ path, destination: 'link.json' }] });
    const given = await listReleaseFiles(path, 'a/b.json', NEVER);
    expect(given).toEqual({ ok: true, value: [{ path, destination: 'a/b.json' }] });
  });

  it.each([
    ['missing', null, /missing cannot be read: ENOENT/],
    ['a.json', '/a', /must not begin with "\/"; give one with --as/],
    ['.', 'a', /^--as: is only for a file/],
  ])('are refused for %s under %s', async (name, destination, problem) => {
    const root = await temporaryDirectory();
    await writeFile(join(root, 'a.json'), '');
    const found = await listReleaseFiles(join(root, name), destination, NEVER);
    expect(found).toEqual({ ok: false, error: expect.stringMatching(problem) as string });
  });
});
