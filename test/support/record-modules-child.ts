/** Loaded with `--import`: lists on standard error the packages that a process has loaded by its end. */
import { registerHooks } from 'node:module';
import process from 'node:process';

const PACKAGE = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const packages = new Set<string>();
registerHooks({
  load: (url, context, next) => {
    const name = PACKAGE.exec(url)?.[1];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});
process.on('exit', () => {
  process.stderr.write([...packages].map((name) => `loaded ${name}\n`).join(''));
});
