fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut effort = predict::Effort::default();
    if let Some(folds) = std::env::var("FOLDS").ok().and_then(|f| f.parse().ok()) { effort.folds = folds; }
    if let Some(t) = std::env::var("TREES").ok().and_then(|f| f.parse().ok()) { effort.trees = t; }
    if let Some(t) = std::env::var("SEED").ok().and_then(|f| f.parse().ok()) { effort.seed = t; }
    let held = match args.iter().position(|a| a == "--held-out") { Some(at) => { let h = args.split_off(at); h[1..].to_vec() } None => vec![] };
    let t = std::time::Instant::now();
    let r = predict::backtest(&args, &held, &predict::Catalogue::own(), &effort).unwrap();
    println!("{:?} {:?}", r.learned, t.elapsed());
    for k in &r.kinds { let s=&k.score; println!("{:28} {:26} {:12} n {:6} m {:3} med {:.3} mean {:.3} cov {:.3} x{:.2} | phys {:.3} {:.3} | anch {:?}", k.domain.words(), k.test, k.situation.words(), s.rows, s.machines, s.median_error, s.mean_error, s.coverage, s.width, k.physics.median_error, k.physics.mean_error, k.anchored.as_ref().map(|a| (a.rows,(a.median_error*1e3).round()/1e3,(a.mean_error*1e3).round()/1e3,(a.coverage*1e3).round()/1e3,(a.width*1e2).round()/1e2))); }
    if std::env::var("M").is_ok() { for k in &r.machines { let s=&k.score; println!("{:60} {:12} n {:6} med {:.3} mean {:.3} cov {:.3} x{:.2} | phys {:.3}", k.machine, k.situation.words(), s.rows, s.median_error, s.mean_error, s.coverage, s.width, k.physics.median_error); } }
    println!("{:?} {:?}", r.refused, r.left_out);
}
