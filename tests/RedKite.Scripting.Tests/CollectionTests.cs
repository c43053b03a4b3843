using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Scripting.Tests;

/// <summary>Scripts keep running while the managed heap is collected: every call between Lua and managed code leaves the thread in the right mode.</summary>
public class CollectionTests
{
    private static readonly int Milliseconds = TestScale.Of(gate: 200, full: 2000);

    [Theory]
    [InlineData("for i = 1, 1000 do redis.call('a', i) end return 1")]
    [InlineData("local call = redis.call for i = 1, 1000 do call('a', 'b') end return 1")]
    [InlineData("local s for i = 1, 1000 do s = 'x' .. i / 2 .. 'y' end return 1")]
    [InlineData("for i = 1, 1000 do pcall(error, 'x') end return 1")]
    [InlineData("for i = 1, 1000 do tostring(i) tonumber('1') bit.band(i, 3) end return 1")]
    [InlineData("local s for i = 1, 1000 do s = string.rep('x', 10 * i) .. i end return 1")]
    [InlineData("local t, n = {1, nil, 3, nil} for i = 1, 1000 do n = #t n = #(t) end return n")]
    [InlineData("local r for i = 1, 1000 do r = redis.pcall('a') end return 1")]
    public void Collections_at_any_time_do_no_harm(string script)
    {
        using var bench = new ScriptBench();
        bool isOver = false;
        var collector = new Thread(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
                GC.Collect(0, GCCollectionMode.Forced, blocking: true);
                Thread.SpinWait(1000);
            }
        });
        collector.Start();
        try
        {
            var clock = Stopwatch.StartNew();
            while (clock.ElapsedMilliseconds < Milliseconds)
            {
                Assert.Equal(":1\r\n", bench.Run(script));
                bench.Host.Calls.Clear();
            }
        }
        finally
        {
            Volatile.Write(ref isOver, true);
            collector.Join();
        }
    }
}
