/**
 * The calls that change the files of the snapshot volume and of the data folder. Nothing changes them by other calls, apart from
 * SQLite: the tests of crash states record these, and build from the record what a power failure can leave behind.
 */
export { chmod, copyFile, mkdir, mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises';
export {
  chmodSync,
  closeSync,
  createWriteStream,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
