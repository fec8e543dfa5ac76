import { execFileSync } from 'node:child_process';
import { chromium, type Browser } from 'playwright-core';

/**
 * Parts of the browser that are switched off. Without a search box that is a page of its own, each window starts two processes
 * less, which is half of its processor time. The others are those that Playwright names: the browser follows the last list only.
 */
const SWITCHED_OFF = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/** Stops everything that the browser does by itself and that would reach the network or outlive the test. */
const ARGUMENTS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${SWITCHED_OFF.join()}`,
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
