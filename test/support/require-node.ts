/**
 * Stops with advice under a Node that cannot run Slipway, such as that of the machine. Without this check, an
 * error far from the cause would follow.
 *
 * @param version as `process.versions.node`
 * @param supported the range of package.json: `^MAJOR.MINOR.PATCH || >=MAJOR.MINOR.PATCH`
 * @throws Error with the version that is needed, and how to run it
 */
export function requireNode(version: string, supported: string): void {
  const ranges = supported.split(' || ');
  if (ranges.some((range) => isWithin(version, range))) return;
  const error = new Error(
    `The tests of Slipway need Node.js ${supported}, and this is ${version}. ` +
      'Put the Node of this checkout first: PATH="$(scripts/setup.sh development):$PATH"',
  );
  // The advice is all that helps.
  error.stack = error.message;
  throw error;
}

function isWithin(version: string, range: string): boolean {
  const from = range.replace(/^\D+/, '');
  const isSameMajor = Number.parseInt(version, 10) === Number.parseInt(from, 10);
  const isNewer = version.localeCompare(from, 'en', { numeric: true }) >= 0;
  return isNewer && (isSameMajor || range.startsWith('>='));
}
