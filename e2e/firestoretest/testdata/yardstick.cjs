// The operations of node_test.go by the Node client: prints what it saw as one JSON object, name by name.
// Environment: FIRESTORE_EMULATOR_HOST, YARDSTICK_ROOT (collections begin with it). The client is found through NODE_PATH.
'use strict';
const {Firestore, FieldValue, FieldPath, Filter, Timestamp, AggregateField} = require('@google-cloud/firestore');

const db = new Firestore({projectId: 'demo', ssl: false});
const root = process.env.YARDSTICK_ROOT;
const col = db.collection(root);
const seen = {};

const outcome = async (f) => {
  try {
    await f();
    return 'ok';
  } catch (err) {
    return `code ${err.code}`;
  }
};
const ids = (snap) => snap.docs.map((d) => d.id).join(' ');
const plain = (data) =>
  JSON.parse(JSON.stringify(data, (_, v) => v), (_, v) => (v && v._seconds !== undefined ? 'time' : v));

async function writes() {
  const doc = col.doc('a');
  seen.updateMissing = await outcome(() => doc.update({n: 1}));
  seen.create = await outcome(() => doc.create({n: 1, list: ['x', 1], m: {keep: 1, drop: 2}}));
  seen.createAgain = await outcome(() => doc.create({n: 2}));
  const first = (await doc.get()).updateTime;
  seen.updateAtTime = await outcome(() => doc.update({n: 2}, {lastUpdateTime: first}));
  seen.updateAtOldTime = await outcome(() => doc.update({n: 3}, {lastUpdateTime: first}));
  seen.deleteAtOldTime = await outcome(() => doc.delete({lastUpdateTime: first}));
  const before = (await doc.get()).updateTime;
  const same = await doc.set({n: 2}, {merge: true});
  seen.noChange = same.writeTime.isEqual(before);
  await doc.update({
    n: FieldValue.increment(5), f: FieldValue.increment(1.5), list: FieldValue.arrayUnion('y', 1),
    'm.drop': FieldValue.delete(), 'm.when': FieldValue.serverTimestamp(),
  });
  await doc.set({list: FieldValue.arrayRemove('x'), extra: null}, {merge: true});
  await doc.update(new FieldPath('odd name', 'x.y'), true);
  seen.document = plain((await doc.get()).data());
  const batch = db.batch();
  batch.set(col.doc('fromBatch'), {v: 1});
  batch.create(doc, {v: 1});
  seen.batch = await outcome(() => batch.commit());
  const [a, missing] = await db.getAll(doc, col.doc('fromBatch'));
  seen.getAll = [a.exists, missing.exists];
  seen.tooBig = await outcome(() => col.doc('big').set({b: Buffer.alloc(1 << 20)}));
  seen.reserved = await outcome(() => col.doc('__reserved__').set({v: 1}));
  await doc.delete();
  seen.deleteMissing = await outcome(() => doc.delete());
  seen.deleteExists = await outcome(() => doc.delete({exists: true}));
}

async function transactions() {
  const doc = col.doc('counter');
  await doc.set({n: 0});
  await Promise.all(Array.from({length: 8}, () =>
    db.runTransaction(async (tx) => {
      const n = (await tx.get(doc)).get('n');
      tx.update(doc, {n: n + 1});
    }, {maxAttempts: 30})));
  seen.counter = (await doc.get()).get('n');
  const at = (await doc.get()).updateTime;
  await doc.set({n: 100});
  seen.readTime = await db.runTransaction(async (tx) => (await tx.get(doc)).get('n'), {readOnly: true, readTime: at});
  seen.rolledBack = await outcome(() => db.runTransaction(async (tx) => {
    tx.set(doc, {n: -1});
    throw Object.assign(new Error('no'), {code: 99});
  }));
  seen.afterRollback = (await doc.get()).get('n');
  await doc.delete();
}

async function queries() {
  const writer = db.bulkWriter();
  for (let i = 0; i < 12; i++) {
    writer.set(col.doc(`q${String(i).padStart(2, '0')}`), {v: i % 4, s: 'abc'[i % 3], tags: [i % 2, i % 5], maybe: i % 6 ? i : null}).catch(() => {});
  }
  await writer.close();
  const run = async (name, q) => {
    seen[name] = ids(await q.get());
  };
  await run('all', col);
  await run('equal', col.where('v', '==', 2));
  await run('range', col.where('v', '>', 0).where('v', '<', 3));
  await run('notEqual', col.where('s', '!=', 'a'));
  await run('in', col.where('s', 'in', ['a', 'c']).where('v', '==', 1));
  await run('notIn', col.where('v', 'not-in', [0, 1]));
  await run('contains', col.where('tags', 'array-contains', 4));
  await run('containsAny', col.where('tags', 'array-contains-any', [3, 4]));
  await run('null', col.where('maybe', '==', null));
  await run('or', col.where(Filter.or(Filter.where('v', '==', 3), Filter.and(Filter.where('s', '==', 'b'), Filter.where('v', '==', 0)))));
  await run('order', col.orderBy('s', 'desc').orderBy('v').limit(5));
  await run('offset', col.orderBy('v').offset(3).limit(3));
  await run('limitToLast', col.orderBy('v').limitToLast(3));
  await run('cursor', col.orderBy('v').startAfter(await col.doc('q05').get()).endAt(2));
  await run('byName', col.orderBy(FieldPath.documentId(), 'desc').startAt('q03').limit(2));
  const picked = await col.orderBy('v', 'desc').select('s').limit(1).get();
  seen.select = picked.docs[0].data();
  const agg = await col.where('v', '>=', 1).aggregate({n: AggregateField.count(), sum: AggregateField.sum('v'), avg: AggregateField.average('v')}).get();
  seen.aggregate = agg.data();
}

async function tree() {
  await col.doc('ghost').collection(`${root}-sub`).doc('s1').set({v: 1});
  await col.doc('q00').collection(`${root}-sub`).doc('s2').set({v: 2});
  await col.doc('q00').collection('other').doc('o').set({v: 3});
  seen.group = ids(await db.collectionGroup(`${root}-sub`).orderBy('v').get());
  seen.collections = (await col.doc('q00').listCollections()).map((c) => c.id).join(' ');
  seen.missing = (await col.listDocuments()).filter((d) => d.id === 'ghost').length;
  let parts = 0;
  for await (const p of db.collectionGroup(`${root}-sub`).getPartitions(2)) {
    parts += (await p.toQuery().get()).size;
  }
  seen.partitioned = parts;
}

async function bulk() {
  const writer = db.bulkWriter();
  writer.onWriteError(() => false);
  const results = [
    outcome(() => writer.create(col.doc('bulk'), {v: 1})),
    outcome(() => writer.create(col.doc('q00'), {v: 1})),
    outcome(() => writer.update(col.doc('nowhere'), {v: 1})),
    outcome(() => writer.delete(col.doc('q11'))),
  ];
  await writer.close();
  seen.bulk = await Promise.all(results);
}

async function listening() {
  const doc = col.doc('watched');
  const states = [];
  let step = 0;
  const next = [() => doc.set({v: 1}), () => doc.update({v: 2}), () => doc.delete()];
  await new Promise((resolve, reject) => {
    const stop = doc.onSnapshot((snap) => {
      states.push(snap.exists ? snap.get('v') : 'gone');
      if (step === next.length) {
        stop();
        resolve();
      } else {
        next[step++]().catch(reject);
      }
    }, reject);
  });
  seen.watchDoc = states;
  const rounds = [];
  let round = 0;
  const moves = [() => col.doc('w1').set({watch: 1}), () => col.doc('w2').set({watch: 0}), () => col.doc('w1').update({watch: 'out'}), () => col.doc('w2').delete()];
  await new Promise((resolve, reject) => {
    const stop = col.where('watch', '<', 5).onSnapshot((snap) => {
      rounds.push(`${ids(snap)}|${snap.docChanges().map((c) => c.type + ' ' + c.doc.id).join(',')}`);
      if (round === moves.length) {
        stop();
        resolve();
      } else {
        moves[round++]().catch(reject);
      }
    }, reject);
  });
  seen.watchQuery = rounds;
}

async function main() {
  await writes();
  await transactions();
  await queries();
  await tree();
  await bulk();
  await listening();
  await db.recursiveDelete(col);
  seen.afterRecursiveDelete = (await col.listDocuments()).length;
  seen.groupAfterDelete = (await db.collectionGroup(`${root}-sub`).get()).size;
  console.log(JSON.stringify(seen));
  await db.terminate();
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
