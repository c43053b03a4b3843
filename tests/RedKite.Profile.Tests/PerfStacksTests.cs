using RedKite.Traces;

namespace RedKite.Profile.Tests;

/// <summary>From the text of perf script to collapsed stacks and back.</summary>
public class PerfStacksTests
{
    // Two samples of a loop and one of the JIT's thread, whose name has spaces, as perf 6 writes them.
    private const string Script = """
        loop-0  7838/7846    789.198459: 
        	ffffffff821ed511 do_syscall_64 ([kernel.kallsyms])
        	          10afa8 syscall (/usr/lib/x86_64-linux-gnu/libc.so.6)
        	    7fbc9d6c4ca6 instance void [RedKite.Net] RedKite.Net.Interop.EpollTransport::Wait(class RedKite.Net.EventLoop)[OptimizedTier1] (/tmp/perf-7838.map)
        	    7fbc9d69bff8 instance void [RedKite.Net] RedKite.Net.EventLoop::Run()[Optimized] (/tmp/perf-7838.map)
        	          5fa3cc [unknown] (/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so)

        .NET Tiered Com  7838/7844 
        	          2b767d [unknown] (/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libclrjit.so)
        	           891f5 start_thread (/usr/lib/x86_64-linux-gnu/libc.so.6)

        loop-0  7838/7846    789.203461: 
        	    7fbc9d6c4ca6 instance void [System.Private.CoreLib] System.Span`1[System.Byte]::.ctor(!0[],int32,int32)[OptimizedTier1] (/tmp/perf-7838.map)
        	    7fbc9d6c4caf stub Link<DelegateShuffleThunk> (/tmp/perf-7838.map)
        	    7fbc9d69bff8 bool [System.Private.CoreLib] System.SpanHelpers::SequenceEqual(uint8&,uint8&,native uint)[Tier0] ([JIT] tid 7838)
        	    7fbc9d69bfff foo (/memfd:doublemapper (deleted))

        """;

    [Fact]
    public void Perf_script_becomes_stacks_with_the_outermost_frame_first()
    {
        StackSample[] stacks = [.. PerfScriptReader.Read(new StringReader(Script))];

        Assert.Equal(3, stacks.Length);
        Assert.Equal("loop-0 7846", stacks[0].Thread);
        Assert.Equal(
            ["[libcoreclr.so]", "RedKite.Net.EventLoop.Run", "RedKite.Net.Interop.EpollTransport.Wait", "syscall [libc.so.6]", "do_syscall_64 [kernel]"],
            stacks[0].Frames);
        Assert.Equal(".NET Tiered Com 7844", stacks[1].Thread);
        Assert.Equal(["start_thread [libc.so.6]", "[libclrjit.so]"], stacks[1].Frames);
    }

    [Fact]
    public void Managed_names_omit_assembly_arguments_and_tier()
    {
        StackSample stack = PerfScriptReader.Read(new StringReader(Script)).Last();
        Assert.Equal(
            ["foo [memfd:doublemapper]", "System.SpanHelpers.SequenceEqual", "stub Link<DelegateShuffleThunk>", "System.Span`1[System.Byte]..ctor"],
            stack.Frames);
    }

    [Fact]
    public void Equal_stacks_are_one_line_with_a_count()
    {
        StackSample once = new("a 1", SampledState.Running, ["Main", "Copy"]);
        StackSample often = new("a 1", SampledState.Running, ["Main", "Parse;Line"]);
        using var text = new StringWriter();
        CollapsedStacks.Write(text, [often, once, often]);

        Assert.Equal(["a 1;Main;Copy 1", "a 1;Main;Parse:Line 2"], text.ToString().Split(Environment.NewLine, StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public void Collapsed_stacks_are_repeated_by_their_count()
    {
        HotMethods hot = HotMethods.Of(CollapsedStacks.Read(new StringReader("loop-0 7;Main;Run;void Parse(int, int) 3\nloop-0 7;Main;Run 2\n\nother 8;Main 1\n")));

        Assert.Equal(6, hot.Samples);
        Assert.Equal([new HotMethod("void Parse(int, int)", 3, 3), new HotMethod("Run", 2, 5), new HotMethod("Main", 1, 6)], hot.Methods);
    }

    [Theory]
    [InlineData("a;b")]
    [InlineData("a;b c")]
    [InlineData("a;b -1")]
    public void Line_without_a_count_is_refused(string line)
    {
        Assert.Throws<FormatException>(() => CollapsedStacks.Read(new StringReader(line)).ToList());
    }
}
