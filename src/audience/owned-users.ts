import { BOOLEAN, DuckDBScalarFunction, VARCHAR, type DuckDBConnection } from '@duckdb/node-api';

/** Leaves in `current` only users that `isOwn`. */
export async function keepOwn(
  connection: DuckDBConnection,
  isOwn: (userId: string) => boolean,
): Promise<void> {
  connection.registerScalarFunction(
    DuckDBScalarFunction.create({
      name: 'is_own',
      returnType: BOOLEAN,
      parameterTypes: [VARCHAR],
      mainFunction: (_info, input, output) => {
        input.getColumnValues(0).forEach((userId, row) => {
          output.setItem(row, typeof userId === 'string' && isOwn(userId));
        });
        output.flush();
      },
    }),
  );
  await connection.run(`
    create table own as select user_id, value from current where is_own(user_id);
    drop table current;
    alter table own rename to current`);
}
