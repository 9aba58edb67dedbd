import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createGunzip } from 'node:zlib';

/**
 * Real purchases as calls: the first weeks of an online gift shop.
 *
 * Chen, D. (2015). Online Retail [Dataset]. UCI Machine Learning Repository.
 * https://doi.org/10.24432/C5BW33, CC BY 4.0. The file holds the rows of 2010-12-01 to 2011-01-24.
 */
const extractFile = fileURLToPath(new URL('data/online-retail-extract.csv.gz', import.meta.url));

/** A call stays below 32 KB with this many order lines; the largest invoice has 675. */
const listedProducts = 250;

/** One line of an invoice. */
export interface PurchaseRow {
  readonly invoice: string;
  readonly stockCode: string;
  readonly description: string;
  readonly quantity: number;
  /** `YYYY-MM-DDTHH:MM:SSZ` */
  readonly date: string;
  /** Pounds sterling. */
  readonly unitPrice: number;
  /** Empty where the shop did not know the customer. */
  readonly customerId: string;
  readonly country: string;
}

export type PurchaseCall = Readonly<Record<string, unknown>> & {
  readonly type: 'identify' | 'track';
  readonly messageId: string;
};

/** The extract's rows in the shop's order. */
export async function* purchaseRows(): AsyncGenerator<PurchaseRow> {
  const lines = createInterface({ input: createReadStream(extractFile).pipe(createGunzip()) });
  let header = true;
  for await (const line of lines) {
    if (!header) yield rowOf(csvFields(line));
    header = false;
  }
}

/**
 * Rows to calls: `identify` at a customer's first row, one `track` per invoice (`Order Completed`, or
 * `Order Cancelled` for a number that starts with C). Message ids are made from the invoice, so the same
 * rows always give the same calls.
 */
export async function* purchaseCalls(
  rows: AsyncIterable<PurchaseRow>,
): AsyncGenerator<PurchaseCall> {
  const known = new Set<string>();
  let order: PurchaseRow[] = [];
  for await (const row of rows) {
    if (order[0] !== undefined && order[0].invoice !== row.invoice) {
      yield* callsOf(order, known);
      order = [];
    }
    order.push(row);
  }
  yield* callsOf(order, known);
}

function* callsOf(order: readonly PurchaseRow[], known: Set<string>): Generator<PurchaseCall> {
  const first = order[0];
  if (first === undefined) return;
  const user =
    first.customerId === ''
      ? { anonymousId: `invoice-${first.invoice}` }
      : { userId: first.customerId };
  if (first.customerId !== '' && !known.has(first.customerId)) {
    known.add(first.customerId);
    yield {
      type: 'identify',
      ...user,
      messageId: `identify-${first.customerId}`,
      traits: { country: first.country },
      timestamp: first.date,
    };
  }
  yield {
    type: 'track',
    ...user,
    messageId: `order-${first.invoice}`,
    event: first.invoice.startsWith('C') ? 'Order Cancelled' : 'Order Completed',
    properties: orderProperties(order, first),
    timestamp: first.date,
  };
}

function orderProperties(order: readonly PurchaseRow[], first: PurchaseRow): object {
  const revenue = order.reduce((sum, row) => sum + row.quantity * row.unitPrice, 0);
  return {
    order_id: first.invoice,
    revenue: Math.round(revenue * 100) / 100,
    currency: 'GBP',
    country: first.country,
    product_count: order.length,
    products: order.slice(0, listedProducts).map((row) => ({
      sku: row.stockCode,
      name: row.description,
      quantity: row.quantity,
      price: row.unitPrice,
    })),
  };
}

function rowOf(fields: readonly string[]): PurchaseRow {
  const [invoice, stockCode, description, quantity, date, unitPrice, customerId, country] = fields;
  return {
    invoice: invoice ?? '',
    stockCode: stockCode ?? '',
    description: description ?? '',
    quantity: Number(quantity),
    date: date ?? '',
    unitPrice: Number(unitPrice),
    customerId: customerId ?? '',
    country: country ?? '',
  };
}

/** Fields of one CSV line; the file quotes only where needed and has no line breaks inside a field. */
function csvFields(line: string): string[] {
  const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...fields].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}
