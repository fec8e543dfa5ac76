import { execFileSync } from 'node:child_process';
import { chromium, type Browser } from 'playwright-core';

/** Stops everything that the browser does by itself and that would reach the network or outlive the test. */
const ARGUMENTS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts the Chromium of this machine, without a window and with a fresh profile. */
export async function launchBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(),
    headless: true,
    // The containers in which tests run lack user namespaces.
    chromiumSandbox: false,
    args: ARGUMENTS,
  });
}
