import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The modules that write the snapshot volume and the data folder. */
const WRITERS = 'src/{attestation,daemon,engine,formats,localization,releases,snapshot,upstream}/**/*.ts';
const IMPORTS = /import (?!type )\{([^}]*)\} from 'node:fs(?:\/promises)?'/g;
const CHANGES =
  /^(?:append|chmod|chown|copyFile|cp|createWrite|fchmod|fsync|ftruncate|link|mkdir|mkdtemp|rename|rm|symlink|truncate|unlink|utimes|write)/;
/** How a file is opened to change it. */
const OPENED_TO_WRITE = /O_(?:APPEND|CREAT|RDWR|TRUNC|WRONLY)|\bopen(?:Sync)?\([^()]*'(?:a|r\+|w)/;

it('files of the snapshot volume and of the data folder are changed through one module', () => {
  const found = globSync(WRITERS).flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const names = [...text.matchAll(IMPORTS)].flatMap(([, list = '']) =>
      list.split(',').map((name) => name.trim()),
    );
    const opens = names.filter((name) => /^open(?:Sync)?$/.test(name) && OPENED_TO_WRITE.test(text));
    return [...names.filter((name) => CHANGES.test(name)), ...opens].map((name) => `${path}: ${name}`);
  });
  expect(found).toEqual([]);
});
