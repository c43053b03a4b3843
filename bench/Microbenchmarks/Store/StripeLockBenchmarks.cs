using BenchmarkDotNet.Attributes;
using RedKite.Store.Keyspace;

namespace RedKite.Microbenchmarks;

/// <summary>Entering and leaving stripes that no other thread wants, which is what nearly every command does.</summary>
public class StripeLockBenchmarks
{
    private const int Pairs = 64;

    private Keyspace _keyspace = null!;
    private StripeSet _two;

    [GlobalSetup]
    public void Setup()
    {
        _keyspace = new Keyspace(Pairs, databases: 1);
        _two = StripeSet.Of(3).With(40);
    }

    [GlobalCleanup]
    public void Cleanup() => _keyspace.Dispose();

    /// <summary>The batch's short path.</summary>
    [Benchmark(OperationsPerInvoke = Pairs)]
    public void EnterAndExit()
    {
        foreach (Stripe stripe in _keyspace.Stripes)
        {
            stripe.Enter();
            stripe.Exit();
        }
    }

    /// <summary>Every other command with one key.</summary>
    [Benchmark(OperationsPerInvoke = Pairs)]
    public void ScopeOfOneStripe()
    {
        for (int i = 0; i < Pairs; i++)
        {
            using LockScope locked = _keyspace.Lock(StripeSet.Of(i));
        }
    }

    [Benchmark]
    public void ScopeOfTwoStripes()
    {
        using LockScope locked = _keyspace.Lock(_two);
    }

    [Benchmark]
    public void ScopeOfAllStripes()
    {
        using LockScope locked = _keyspace.LockAll();
    }

    [Benchmark]
    public bool Grow()
    {
        using LockScope locked = _keyspace.Lock(StripeSet.Of(9));
        return locked.Grow(_two);
    }
}
