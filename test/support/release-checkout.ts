import { execFileSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Makes a repository with one commit of what this working tree has, changed or not, because only what is committed is released.
 *
 * @param directory is made
 */
export async function makeReleaseCheckout(directory: string): Promise<void> {
  await mkdir(directory);
  const copy =
    'git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -c -T - | tar -x -C "$1"';
  execFileSync('sh', ['-c', copy, 'sh', directory], { cwd: ROOT });
  const git = (...args: readonly string[]): void => {
    const author = [
      '-c',
      'user.name=Test',
      '-c',
      'user.email=test@example.org',
      '-c',
      'commit.gpgsign=false',
    ];
    execFileSync('git', [...author, ...args], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  git('init', '--quiet', '--initial-branch=main');
  // A link, so the pattern of .gitignore for the folder does not fit.
  await writeFile(join(directory, '.git/info/exclude'), 'node_modules\n');
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  // A release has a date.
  const changelog = join(directory, 'CHANGELOG.md');
  const text = await readFile(changelog, 'utf8');
  await writeFile(changelog, text.replace(/^(## \[.*\]) - unreleased$/m, '$1 - 2026-12-01'));
  git('add', '.');
  git('commit', '--quiet', '--message=Everything');
}
