import type { Kept } from './measure-answers.ts';
import type { QualityReport, TextReport, VariantReport } from './quality-report.ts';

/** A part of a page that is HTML already. */
class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | number | null | readonly Html[];

/** Writes HTML. Every value is escaped that is not HTML already. */
function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  const texts = values.map((value) => {
    if (value instanceof Html) return value.text;
    if (typeof value === 'object' && value !== null) return value.map(({ text }) => text).join('');
    return escaped(String(value ?? ''));
  });
  return new Html(parts.map((part, at) => part + (texts[at] ?? '')).join(''));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Marks of direction would change the page around their text. */
const DIRECTION = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character)
    .replaceAll(DIRECTION, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase()}]`);
}

const STYLE = `
  :root { color-scheme: light dark; --line: #8886; --good: #2a7d3f; --bad: #b3261e; }
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 100rem; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
  th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: start; vertical-align: top; }
  thead th { position: sticky; top: 0; background: Canvas; }
  td.figure { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
  .text { white-space: pre-wrap; overflow-wrap: anywhere; }
  .best { font-weight: 700; }
  .bad { color: var(--bad); }
  .muted { opacity: .7; font-size: .85em; }
  @media (prefers-color-scheme: dark) { :root { --good: #7fd393; --bad: #ff9d94; } }
`;

/** Writes the report as one page without scripts and without anything from elsewhere. Texts with the lowest scores come first. */
export function qualityPage(report: QualityReport, version: string): string {
  const { set, source_language: source, target_language: target, variants } = report;
  const mean = ({ answers }: TextReport): number =>
    answers.reduce((sum, { chrf }) => sum + chrf, 0) / Math.max(1, answers.length);
  const texts = report.texts.toSorted((one, other) => mean(one) - mean(other));
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>Evaluation of translations: ${set.file}</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <h1>Evaluation of translations</h1>
        <p>
          ${set.texts} of ${set.usable} texts of ${set.file}, from ${source} to ${target}. chrF is from 0 to
          100: how much a translation shares with the reviewed one. It compares variants on the same texts; a
          good translation in other words has a low one, too.
        </p>
        <table>
          <thead>
            <tr>
              <th>Variant</th>
              <th>Model</th>
              <th>chrF</th>
              <th>Translated</th>
              <th>With errors</th>
              <th>Terms kept</th>
              <th>Tokens kept</th>
              <th>Length kept</th>
              <th>Requests</th>
              <th>Tokens used</th>
              <th>Cost</th>
              <th>Seconds</th>
            </tr>
          </thead>
          <tbody>
            ${variants.map((variant) => variantRow(variant, variants, set.texts))}
          </tbody>
        </table>
        <h2>Texts</h2>
        <table>
          <thead>
            <tr>
              <th>Source</th>
              <th>Reviewed</th>
              ${variants.map(({ name }) => html`<th>${name}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${texts.map(textRow)}
          </tbody>
        </table>
        <p class="muted">Written by Slipway ${version}.</p>
      </body>
    </html> `;
  return page.text;
}

function variantRow(variant: VariantReport, all: readonly VariantReport[], texts: number): Html {
  const best = Math.max(...all.map(({ chrf }) => chrf));
  const { usage } = variant;
  return html`<tr>
    <th scope="row">${variant.name}${failureNote(variant)}</th>
    <td>${variant.model ?? '-'}</td>
    <td class="figure${variant.chrf === best ? ' best' : ''}">${variant.chrf.toFixed(2)}</td>
    <td class="figure">${variant.translated} of ${texts}</td>
    <td class="figure">${variant.with_errors}</td>
    <td class="figure">${keptText(variant.terms)}</td>
    <td class="figure">${keptText(variant.tokens)}</td>
    <td class="figure">${keptText(variant.length)}</td>
    <td class="figure">${usage.requests}</td>
    <td class="figure">${usage.prompt_tokens + usage.answer_tokens}</td>
    <td class="figure">${usage.cost}</td>
    <td class="figure">${variant.seconds}</td>
  </tr> `;
}

function failureNote({ failed, failure_reason: reason }: VariantReport): Html {
  return failed === 0 ? html`` : html`<div class="bad">${failed} failed: ${reason}</div>`;
}

/** Such as `19 of 20`; `-` when there was nothing to keep. */
export function keptText({ of, kept }: Kept): string {
  return of === 0 ? '-' : `${kept} of ${of}`;
}

function textRow(text: TextReport): Html {
  const { destination, field_path: field, speaker, answers } = text;
  const place = [destination, field, speaker ?? ''].filter((part) => part !== '').join(' · ');
  return html`<tr>
    <td>
      <div class="text">${text.source_text}</div>
      <div class="muted">${place}</div>
    </td>
    <td class="text">${text.reference}</td>
    ${answers.map(answerCell)}
  </tr> `;
}

function answerCell(answer: TextReport['answers'][number]): Html {
  const { target_text: target, failure, chrf, findings } = answer;
  if (target === null) return html`<td class="bad">${failure ?? 'no translation'}</td>`;
  return html`<td>
    <div class="text">${target}</div>
    <div class="muted">chrF ${chrf.toFixed(2)}</div>
    ${findings.map(
      ({ severity, message }) =>
        html`<div class="${severity === 'error' ? 'bad' : 'muted'}">${message}</div>`,
    )}
  </td>`;
}
